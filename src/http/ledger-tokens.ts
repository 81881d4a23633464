/**
 * Tokens in the database of the ledger, for servers on several hosts.
 *
 * 1. Each request reads the current version first, so a token that another host revoked stops working at once.
 * 2. A change is a compare-and-set on the version, so two hosts never undo each other's changes.
 * 3. While the database cannot be read, no stored token is accepted.
 */
import type { Documents } from '../ledger/documents.ts';
import type {
  ChangeTokens,
  FoundLogin,
  MadeToken,
  NewLogin,
  NewToken,
  TokenContent,
  TokenRecord,
  Tokens,
} from './token-content.ts';
import {
  findLogin,
  findNamed,
  findToken,
  listTokens,
  makeLogin,
  makeToken,
  noTokens,
  parseTokens,
  removeLogin,
  removeToken,
  writeTokens,
} from './token-content.ts';

const documentName = 'tokens';
/** A wait that only looks at the revision starts a refresh this often. */
const refreshEveryMs = 200;

type State = { readonly version: number; readonly content: TokenContent };

export class LedgerTokens implements Tokens {
  readonly #documents: Documents;
  readonly #now: () => number;
  /** The state at the last refresh, or why it failed. */
  #state: State | { readonly error: unknown } = { version: 0, content: noTokens };
  #running: Promise<void> | undefined;
  #queued: Promise<void> | undefined;
  #startedMs = 0;

  constructor(documents: Documents, now: () => number) {
    this.#documents = documents;
    this.#now = now;
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

  async create(given: NewToken): Promise<MadeToken> {
    const { token, record, change } = makeToken(given, this.#now());
    await this.#change(change);
    return { token, record };
  }

  list(): readonly TokenRecord[] {
    return listTokens(this.#read().content);
  }

  async revoke(which: string): Promise<TokenRecord | undefined> {
    let revoked: TokenRecord | undefined;
    await this.#change((content) => {
      revoked = findNamed(content, which);
      return revoked && removeToken(content, revoked);
    });
    return revoked;
  }

  findToken(secret: string): TokenRecord | undefined {
    return findToken(this.#read().content, secret, this.#now());
  }

  async openLogin(tokenId: string, lastsMs: number): Promise<NewLogin> {
    const { login, change } = makeLogin(tokenId, lastsMs, this.#now());
    await this.#change(change);
    return login;
  }

  findLogin(secret: string, pageKey: string): FoundLogin | undefined {
    return findLogin(this.#read().content, secret, pageKey, this.#now());
  }

  closeLogin(secret: string): Promise<void> {
    return this.#change((content) => removeLogin(content, secret));
  }

  get revision(): string {
    if (performance.now() - this.#startedMs > refreshEveryMs) this.refresh().catch(() => undefined);
    return String(this.#read().version);
  }

  #read(): State {
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
    try {
      const { version, text } = await this.#documents.read(documentName, known?.version);
      if (known === undefined || version !== known.version)
        this.#state = {
          version,
          content: text === undefined ? noTokens : parseTokens(() => text, 'The database of the ledger'),
        };
    } catch (error) {
      this.#state = { error };
      throw error;
    }
  }

  async #change(change: ChangeTokens): Promise<void> {
    for (;;) {
      await this.refresh();
      const { version, content } = this.#read();
      const next = change(content);
      if (next === undefined) return;
      if (!(await this.#documents.replace(documentName, version, writeTokens(next)))) continue;
      return this.refresh();
    }
  }
}
