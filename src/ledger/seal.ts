/**
 * Encrypts data that must not be readable in the store.
 *
 * 1. The host's key itself encrypts nothing: the keys for encryption, digests and tokens are derived from it, so that
 *    none reveals another.
 * 2. A sealed text opens only under the context it was sealed for: one call's payload cannot be moved to another.
 * 3. Every seal has its own random nonce, so equal texts look different. Safe for 2^32 seals under one key.
 */
import type { KeyObject } from 'node:crypto';
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import { QuittanceError } from '../base/error.ts';
import { deriveKey, parseKeyRing } from './key-ring.ts';

export interface Seal {
  /** Seals `plain` for `context`, which is not stored and must be given again to open it. */
  seal(plain: string, context: string): string;
  /** The text that was sealed. Throws `seal.broken` for another key or context, and for any changed character. */
  open(sealed: string, context: string): string;
  /** For digests of sealed data: useless for opening anything. */
  readonly digestKey: Uint8Array;
  /** For signing tokens that outsiders bring back: useless for opening anything. */
  readonly tokenKey: Uint8Array;
}

const nonceBytes = 12;
const tagBytes = 16;
const algorithm = 'aes-256-gcm';
const prefix = 'v1.';

/** Creates the seal for one key of 32 bytes, e.g. `crypto.randomBytes(32)`, or for the keys of a rotated ledger. */
export function createSeal(key: Uint8Array): Seal {
  const { current, older, digestKey } = parseKeyRing(key);
  const [encryptionKey, ...otherKeys] = [current, ...older].map((each) =>
    createSecretKey(deriveKey(each, 'quittance v1 seal')),
  ) as [KeyObject, ...KeyObject[]]; // one for each key
  return {
    seal(plain, context) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, encryptionKey, nonce, { authTagLength: tagBytes });
      cipher.setAAD(encodeContext(context));
      const body = Buffer.concat([cipher.update(encodeText(plain)), cipher.final()]);
      return prefix + Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url');
    },
    open(sealed, context) {
      const bytes = decodeSealed(sealed);
      const aad = encodeContext(context);
      let cause: unknown;
      for (const each of [encryptionKey, ...otherKeys])
        try {
          return openWith(each, bytes, aad);
        } catch (error) {
          cause ??= error;
        }
      throw new QuittanceError(
        'seal.broken',
        'A sealed payload does not open: it was sealed with another key or for another call, or was ' +
          'changed since.',
        {},
        cause,
      );
    },
    digestKey,
    tokenKey: deriveKey(current, 'quittance v1 decision token'),
  };
}

function openWith(key: KeyObject, bytes: Buffer, aad: Buffer): string {
  const nonce = bytes.subarray(0, nonceBytes);
  const body = bytes.subarray(nonceBytes + tagBytes);
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(aad);
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  return decodeText(Buffer.concat([decipher.update(body), decipher.final()]));
}

/**
 * A seal whose key is read when it is needed for the first time. If a payload does not open, `readAgain` may give the keys
 * as they are now: another process may have rotated them.
 */
export function createLateSeal(readKey: () => Uint8Array, readAgain?: () => Uint8Array | undefined): Seal {
  let made: Seal | undefined;
  const seal = (): Seal => (made ??= createSeal(readKey()));
  return {
    seal: (plain, context) => seal().seal(plain, context),
    open(sealed, context) {
      try {
        return seal().open(sealed, context);
      } catch (error) {
        const key = readAgain?.();
        if (key === undefined) throw error;
        made = createSeal(key);
        return made.open(sealed, context);
      }
    },
    get digestKey() {
      return seal().digestKey;
    },
    get tokenKey() {
      return seal().tokenKey;
    },
  };
}

/** UTF-16, because in UTF-8 all contexts that differ only in a lone surrogate would be the same. */
const encodeContext = (context: string): Buffer => Buffer.from(context, 'utf16le');

/** The first byte gives the encoding: UTF-8, or UTF-16 if UTF-8 would lose a lone surrogate. */
function encodeText(plain: string): Buffer {
  const isWellFormed = plain.isWellFormed();
  const text = Buffer.from(plain, isWellFormed ? 'utf8' : 'utf16le');
  return Buffer.concat([Uint8Array.of(isWellFormed ? 8 : 16), text]);
}

const decodeText = (bytes: Buffer): string => bytes.toString(bytes[0] === 8 ? 'utf8' : 'utf16le', 1);

function decodeSealed(sealed: string): Buffer {
  const bytes = Buffer.from(sealed.slice(prefix.length), 'base64url');
  // Decoding ignores characters outside base64url, so only the exact text we wrote is accepted.
  if (prefix + bytes.toString('base64url') === sealed && bytes.length > nonceBytes + tagBytes) return bytes;
  throw new QuittanceError(
    'seal.broken',
    `A sealed payload starts with "${prefix}" and is base64url; found ${sealed.length} characters that are not.`,
  );
}
