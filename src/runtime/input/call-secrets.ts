/**
 * The secrets of one call. They are hidden in everything that is stored or returned about it. All stages of
 * the call share this object, so that an early stage hides as much as the others.
 */
import type { KnownSecrets } from '../../base/known-secrets.ts';
import { createKnownSecrets, noSecrets, shortestEchoed } from '../../base/known-secrets.ts';

/** Beyond this number, secrets are hidden in the output itself but not in later texts. */
const mostGiven = 200;

const none: readonly string[] = Object.freeze([]);

export class CallSecrets {
  readonly #ofFacts: readonly string[];
  readonly #ofRequest: readonly string[];
  /** Secrets of the input that the schema accepted. */
  declare ofInput: readonly string[];
  /** Secrets of the snapshot of the last preview. */
  declare ofSnapshot: readonly string[];
  /** Secrets that the tool returned. From then on they are hidden everywhere. */
  declare private given: readonly string[];
  declare private last:
    | { readonly of: readonly (readonly string[])[]; readonly known: KnownSecrets }
    | undefined;

  /** Few calls have secrets, so the lists are on the prototype until they are set. */
  static {
    const unset: Partial<CallSecrets> = { ofInput: none, ofSnapshot: none };
    Object.assign(this.prototype, unset, { given: none });
  }

  constructor(ofFacts: readonly string[], ofRequest: readonly string[]) {
    this.#ofFacts = ofFacts;
    this.#ofRequest = ofRequest;
  }

  /** Adds secrets that were found in the tool's output. */
  learn(secrets: readonly string[]): void {
    if (secrets.length === 0 || this.given.length >= mostGiven) return;
    const known = new Set(this.given);
    const added = secrets.filter((secret) => !known.has(secret) && secret.length >= shortestEchoed);
    if (added.length > 0) this.given = [...this.given, ...added].slice(0, mostGiven);
  }

  get #isEmpty(): boolean {
    return (
      this.#ofFacts.length === 0 &&
      this.#ofRequest.length === 0 &&
      this.ofInput.length === 0 &&
      this.ofSnapshot.length === 0 &&
      this.given.length === 0
    );
  }

  /** All secrets, prepared for searching. Rebuilt only when one of the lists has changed. */
  get known(): KnownSecrets {
    return this.#isEmpty ? noSecrets : this.#find();
  }

  #find(): KnownSecrets {
    const of = [this.#ofFacts, this.#ofRequest, this.ofInput, this.ofSnapshot, this.given];
    const last = this.last;
    if (last !== undefined && of.every((values, index) => values === last.of[index])) return last.known;
    const known = createKnownSecrets(of.flat(), shortestEchoed);
    this.last = { of, known };
    return known;
  }
}
