/**
 * Encrypts data that must not be readable in the store.
 *
 * 1. The host's key itself encrypts nothing: the keys for encryption, digests and tokens are derived from it, so that
 *    none reveals another.
 * 2. A sealed text opens only under the context it was sealed for: one call's payload cannot be moved to another.
 * 3. Every seal has its own random nonce, so equal texts look different. Safe for 2^32 seals under one key.
 */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import { QuittanceError } from '../base/error.ts';

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

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const algorithm = 'aes-256-gcm';
const prefix = 'v1.';

/** Creates the seal for one host key of 32 bytes, e.g. `crypto.randomBytes(32)`. */
export function createSeal(key: Uint8Array): Seal {
  checkKey(key);
  const encryptionKey = createSecretKey(deriveKey(key, 'quittance v1 seal'));
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
      const nonce = bytes.subarray(0, nonceBytes);
      const body = bytes.subarray(nonceBytes + tagBytes);
      const decipher = createDecipheriv(algorithm, encryptionKey, nonce, { authTagLength: tagBytes });
      decipher.setAAD(encodeContext(context));
      decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      try {
        return decodeText(Buffer.concat([decipher.update(body), decipher.final()]));
      } catch (cause) {
        throw new QuittanceError(
          'seal.broken',
          'A sealed payload does not open: it was sealed with another key or for another call, or was ' +
            'changed since.',
          {},
          cause,
        );
      }
    },
    digestKey: deriveKey(key, 'quittance v1 digest'),
    tokenKey: deriveKey(key, 'quittance v1 decision token'),
  };
}

/** A seal whose key is read when it is needed for the first time. */
export function createLateSeal(readKey: () => Uint8Array): Seal {
  let made: Seal | undefined;
  const seal = (): Seal => (made ??= createSeal(readKey()));
  return {
    seal: (plain, context) => seal().seal(plain, context),
    open: (sealed, context) => seal().open(sealed, context),
    get digestKey() {
      return seal().digestKey;
    },
    get tokenKey() {
      return seal().tokenKey;
    },
  };
}

function checkKey(key: unknown): asserts key is Uint8Array {
  if (key instanceof Uint8Array && key.byteLength === keyBytes) return;
  const type = key === null ? 'null' : typeof key;
  const found = key instanceof Uint8Array ? `${key.byteLength} bytes` : `a value of type ${type}`;
  throw new QuittanceError(
    'config.invalid',
    `The seal key must be a Uint8Array of ${keyBytes} bytes; found ${found}. Create one with ` +
      `crypto.randomBytes(${keyBytes}) and keep it: no other key opens what it sealed.`,
  );
}

const deriveKey = (key: Uint8Array, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', key, new Uint8Array(0), purpose, keyBytes));

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
