/**
 * The token file: a small file next to the ledger that only its owner can read.
 *
 * 1. The file is replaced in one step, so a reader sees all of a change or none of it.
 * 2. Every request is checked against the current file, so a revoked token stops working at once.
 */
import { readFileSync, statSync } from 'node:fs';
import { checkPrivateFile } from '../runtime/files/private-file.ts';
import { lockFile, replaceFile } from '../store/files/replace-file.ts';
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

export const tokenFilePath = (ledgerPath: string): string => `${ledgerPath}.tokens`;

export class TokenFile implements Tokens {
  readonly #path: string | undefined;
  readonly #now: () => number;
  #content: TokenContent = noTokens;
  /** The state of the file at the last read. */
  #stamp: string | undefined;
  #changes = 0;

  /** Without a path nothing is stored, and tokens end with the process. */
  constructor(path: string | undefined, now: () => number) {
    this.#path = path;
    this.#now = now;
  }

  check(): void {
    if (this.#path !== undefined) checkPrivateFile({ path: this.#path, what: 'token file', secret: false });
  }

  /** Nothing to do: each look checks whether the file changed. */
  refresh(): void {
    return;
  }

  create(given: NewToken): MadeToken {
    const { token, record, change } = makeToken(given, this.#now());
    this.#change(change);
    return { token, record };
  }

  list(): readonly TokenRecord[] {
    return listTokens(this.#read());
  }

  revoke(which: string): TokenRecord | undefined {
    let revoked: TokenRecord | undefined;
    this.#change((content) => {
      revoked = findNamed(content, which);
      return revoked && removeToken(content, revoked);
    });
    return revoked;
  }

  findToken(secret: string): TokenRecord | undefined {
    return findToken(this.#read(), secret, this.#now());
  }

  openLogin(tokenId: string, lastsMs: number): NewLogin {
    const { login, change } = makeLogin(tokenId, lastsMs, this.#now());
    this.#change(change);
    return login;
  }

  findLogin(secret: string, pageKey: string): FoundLogin | undefined {
    return findLogin(this.#read(), secret, pageKey, this.#now());
  }

  closeLogin(secret: string): void {
    this.#change((content) => removeLogin(content, secret));
  }

  get revision(): string {
    this.#read();
    return this.#path === undefined ? String(this.#changes) : (this.#stamp ?? '');
  }

  #read(): TokenContent {
    const path = this.#path;
    if (path === undefined) return this.#content;
    const found = statSync(path, { throwIfNoEntry: false, bigint: true });
    const stamp = found && `${found.ino}/${found.mtimeNs}/${found.size}/${found.mode}/${found.uid}`;
    if (stamp === this.#stamp) return this.#content;
    this.check();
    this.#content = stamp === undefined ? noTokens : parseTokens(() => readFileSync(path, 'utf8'), path);
    this.#stamp = stamp;
    return this.#content;
  }

  #change(change: ChangeTokens): void {
    if (this.#path === undefined) {
      this.#content = change(this.#content) ?? this.#content;
      this.#changes++;
      return;
    }
    const release = lockFile(`${this.#path}.lock`, 'tokens');
    try {
      this.#stamp = undefined;
      const next = change(this.#read());
      if (next !== undefined) replaceFile(this.#path, writeTokens(next));
    } finally {
      release();
    }
  }
}
