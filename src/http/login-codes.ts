/** One-time codes for a login. Any browser that opens the link with one can use it, once. */
import { randomBytes } from 'node:crypto';
import { hashSecret } from '../runtime/host/token-content.ts';

const lastMs = 15 * 60_000;

export class LoginCodes {
  /** By their hash. */
  readonly #codes = new Map<string, { readonly tokenId: string; readonly expiresAt: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  make(tokenId: string): string {
    const now = this.#now();
    for (const [hash, { expiresAt }] of this.#codes) if (expiresAt <= now) this.#codes.delete(hash);
    const code = randomBytes(32).toString('base64url');
    this.#codes.set(hashSecret(code), { tokenId, expiresAt: now + lastMs });
    return code;
  }

  /** The token that the code stands for; undefined if it is used, expired or unknown. Does not use it. */
  find(code: string): string | undefined {
    const found = this.#codes.get(hashSecret(code));
    return found === undefined || found.expiresAt <= this.#now() ? undefined : found.tokenId;
  }

  /** The same, and the code is used. */
  use(code: string): string | undefined {
    const tokenId = this.find(code);
    this.#codes.delete(hashSecret(code));
    return tokenId;
  }
}
