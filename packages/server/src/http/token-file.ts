/** Tokens in a small file next to the ledger. */
import { ContentFile } from './content-file.ts';
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

export const tokenFilePath = (ledgerPath: string): string => `${ledgerPath}.tokens`;

export class TokenFile implements Tokens {
  readonly #file: ContentFile<TokenContent>;
  readonly #now: () => number;

  /** Without a path nothing is stored, and tokens end with the process. */
  constructor(path: string | undefined, now: () => number) {
    this.#file = new ContentFile(path, tokenFormat);
    this.#now = now;
  }

  check(): void {
    this.#file.check();
  }

  refresh(): void {
    this.#file.refresh();
  }

  create(given: NewToken): MadeToken {
    const { token, record, change } = makeToken(given, this.#now());
    this.#file.change(change);
    return { token, record };
  }

  list(): readonly TokenRecord[] {
    return listTokens(this.#file.read());
  }

  revoke(which: string): TokenRecord | undefined {
    let revoked: TokenRecord | undefined;
    this.#file.change((content) => {
      revoked = findNamed(content, which);
      return revoked && removeToken(content, revoked);
    });
    return revoked;
  }

  findToken(secret: string): TokenRecord | undefined {
    return findToken(this.#file.read(), secret, this.#now());
  }

  openLogin(tokenId: string, lastsMs: number): NewLogin {
    const { login, change } = makeLogin(tokenId, lastsMs, this.#now());
    this.#file.change(change);
    return login;
  }

  findLogin(secret: string, pageKey: string): FoundLogin | undefined {
    return findLogin(this.#file.read(), secret, pageKey, this.#now());
  }

  closeLogin(secret: string): void {
    this.#file.change((content) => removeLogin(content, secret));
  }

  get revision(): string {
    return this.#file.revision;
  }
}
