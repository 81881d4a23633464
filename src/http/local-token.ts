/** The token that `serve` makes for the person who started it. It is not stored and ends with the process. */
import { timingSafeEqual } from 'node:crypto';
import type { Actor } from './actor.ts';
import { hashSecret } from '../runtime/host/token-content.ts';

export class LocalToken {
  readonly name: string;
  /** A browser login belongs to one name: it is not valid after a restart under another name. */
  readonly loginId: string;
  /** The record of the token. It ends with the process, and so do its logins and links. */
  readonly tokenId: string;
  readonly #hash: Buffer;

  constructor({ token, name }: { readonly token: string; readonly name: string }) {
    const hash = hashSecret(token);
    this.name = name;
    this.loginId = `local/${name}`;
    this.tokenId = `local/${name}/${hash.slice(0, 8)}`;
    this.#hash = Buffer.from(hash);
  }

  is(token: string): boolean {
    // Hashes have equal length, and comparing them reveals nothing about the texts.
    return timingSafeEqual(Buffer.from(hashSecret(token)), this.#hash);
  }

  actor(by: Actor['by'], expiresAt?: number): Actor {
    return {
      name: this.name,
      role: 'admin',
      tokenId: this.tokenId,
      person: undefined,
      groups: undefined,
      principals: undefined,
      by,
      expiresAt,
      signIn: undefined,
    };
  }
}
