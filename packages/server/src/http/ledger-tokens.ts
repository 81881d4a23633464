/** Tokens in the database of the ledger, for servers on several hosts. */
import type { Documents } from 'quittance/internal/ledger/ledger';
import { ContentDocument } from './content-document.ts';
import type {
  FoundLogin,
  MadeToken,
  NewLogin,
  NewToken,
  TokenContent,
  TokenRecord,
  Tokens,
} from 'quittance/internal/runtime/tokens';
import {
  findLogin,
  findNamed,
  findToken,
  listTokens,
  makeLogin,
  makeToken,
  removeLogin,
  removeToken,
  tokenFormat,
} from 'quittance/internal/runtime/tokens';

export class LedgerTokens implements Tokens {
  readonly #document: ContentDocument<TokenContent>;
  readonly #now: () => number;

  constructor(documents: Documents, now: () => number) {
    this.#document = new ContentDocument(documents, 'tokens', tokenFormat);
    this.#now = now;
  }

  check(): void {
    this.#document.check();
  }

  refresh(): Promise<void> {
    return this.#document.refresh();
  }

  async create(given: NewToken): Promise<MadeToken> {
    const { token, record, change } = makeToken(given, this.#now());
    await this.#document.change(change);
    return { token, record };
  }

  list(): readonly TokenRecord[] {
    return listTokens(this.#document.read());
  }

  async revoke(which: string): Promise<TokenRecord | undefined> {
    let revoked: TokenRecord | undefined;
    await this.#document.change((content) => {
      revoked = findNamed(content, which);
      return revoked && removeToken(content, revoked);
    });
    return revoked;
  }

  findToken(secret: string): TokenRecord | undefined {
    return findToken(this.#document.read(), secret, this.#now());
  }

  async openLogin(tokenId: string, lastsMs: number): Promise<NewLogin> {
    const { login, change } = makeLogin(tokenId, lastsMs, this.#now());
    await this.#document.change(change);
    return login;
  }

  findLogin(secret: string, pageKey: string): FoundLogin | undefined {
    return findLogin(this.#document.read(), secret, pageKey, this.#now());
  }

  closeLogin(secret: string): Promise<void> {
    return this.#document.change((content) => removeLogin(content, secret));
  }

  get revision(): string {
    return this.#document.revision;
  }
}
