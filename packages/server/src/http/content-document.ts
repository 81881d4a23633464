/**
 * A content in the database of the ledger, for servers on several hosts.
 *
 * 1. Each request reads the current version first, so a change by another host counts at once.
 * 2. A change is a compare-and-set on the version, so two hosts never undo each other's changes.
 * 3. While the database cannot be read, the content cannot be read either.
 */
import type { Documents } from 'quittance/internal/ledger/ledger';
import type { ContentFormat, StoredContent } from 'quittance/internal/runtime/tokens';

/** A wait that only looks at the revision starts a refresh this often. */
const refreshEveryMs = 200;

type State<Content> = { readonly version: number; readonly content: Content };

export class ContentDocument<Content> implements StoredContent<Content> {
  readonly #documents: Documents;
  readonly #name: string;
  readonly #format: ContentFormat<Content>;
  /** The state at the last refresh, or why it failed. */
  #state: State<Content> | { readonly error: unknown };
  #running: Promise<void> | undefined;
  #queued: Promise<void> | undefined;
  #startedMs = 0;

  constructor(documents: Documents, name: string, format: ContentFormat<Content>) {
    this.#documents = documents;
    this.#name = name;
    this.#format = format;
    this.#state = { version: 0, content: format.empty };
  }

  check(): void {
    return;
  }

  /** Callers share a refresh, but only one that starts after they ask: an earlier one may have read too early. */
  refresh(): Promise<void> {
    if (this.#running === undefined) return this.#start();
    this.#queued ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#queued = undefined;
        return this.#start();
      });
    return this.#queued;
  }

  get revision(): string {
    if (performance.now() - this.#startedMs > refreshEveryMs) this.refresh().catch(() => undefined);
    return String(this.#read().version);
  }

  read(): Content {
    return this.#read().content;
  }

  async change(change: (content: Content) => Content | undefined): Promise<void> {
    for (;;) {
      await this.refresh();
      const { version, content } = this.#read();
      const next = change(content);
      if (next === undefined) return;
      if (!(await this.#documents.replace(this.#name, version, this.#format.write(next)))) continue;
      return this.refresh();
    }
  }

  #read(): State<Content> {
    if ('error' in this.#state) throw this.#state.error;
    return this.#state;
  }

  #start(): Promise<void> {
    this.#startedMs = performance.now();
    this.#running = this.#load().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #load(): Promise<void> {
    const known = 'error' in this.#state ? undefined : this.#state;
    const { empty, parse } = this.#format;
    try {
      const { version, text } = await this.#documents.read(this.#name, known?.version);
      if (known === undefined || version !== known.version)
        this.#state = {
          version,
          content: text === undefined ? empty : parse(() => text, 'The database of the ledger'),
        };
    } catch (error) {
      this.#state = { error };
      throw error;
    }
  }
}
