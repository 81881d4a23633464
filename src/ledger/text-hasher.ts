/**
 * Hashes texts without a copy of them: they are written to one buffer, which is hashed. The results are those of
 * `chainHash` and `bodiesDigest`, at two thirds of the time. For a writer that hashes every entry.
 */
import { hash } from 'node:crypto';
import { chainHash } from './chain.ts';
import { bodiesDigest } from './formats/v1/bodies-digest.ts';

/** Longer texts are rare. */
const bufferBytes = 65_536;

export class TextHasher {
  readonly #buffer = Buffer.allocUnsafeSlow(bufferBytes);

  chainHash(previous: string, sequence: number, text: string): string {
    const length = previous.length + text.length;
    // A UTF-16 unit needs at most three bytes, and a number at most 24.
    if (3 * length + 32 > bufferBytes) return chainHash(previous, sequence, text);
    const from = this.#buffer.write(`${previous}\n${sequence}\n`, 'utf8');
    return this.#digest(from + this.#buffer.write(text, from, 'utf8'));
  }

  bodiesDigest(salt: string, bodies: string): string {
    if (3 * (salt.length + bodies.length) > bufferBytes) return bodiesDigest(salt, bodies);
    const from = this.#buffer.write(salt, 'utf8');
    return `sha256:${this.#digest(from + this.#buffer.write(bodies, from, 'utf8'))}`;
  }

  #digest(bytes: number): string {
    return hash('sha256', this.#buffer.subarray(0, bytes), 'hex');
  }
}
