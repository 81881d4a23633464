/**
 * Encrypts data that must not be readable in the store.
 *
 * 1. The host's key itself encrypts nothing: the keys for encryption, digests and tokens are derived from it, so that
 *    none reveals another.
 * 2. A sealed text opens only under the context it was sealed for: one call's payload cannot be moved to another.
 * 3. Every seal has its own random nonce, so equal texts look different. Safe for 2^32 seals under one key.
 */
import type { KeyObject } from 'node:crypto';
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes, hash, hkdfSync } from 'node:crypto';
import { QuittanceError } from '../base/error.ts';

export interface Seal {
  /** Seals `plain` for `context`, which is not stored and must be given again to open it. */
  seal(plain: string, context: string): string;
  /** Returns the sealed text. Throws `seal.broken` for another key or context, and for any changed character. */
  open(sealed: string, context: string): string;
  /** The key for digests of sealed data. It opens nothing. */
  readonly digestKey: Uint8Array;
  /** The key that signs tokens given to outsiders. It opens nothing. */
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
 * A seal whose key is read on first use. If a payload does not open, `readAgain` may return the current keys: another
 * process may have rotated them.
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

/**
 * The seal keys of a ledger. A ledger begins with one key of 32 bytes. A rotation adds a new one; the old ones open what
 * they sealed until everything is sealed again.
 *
 * 1. The current key seals and signs. Every key can open.
 * 2. Digests are recorded for ever and compared again with every repeated call. So their key never changes: it is derived
 *    from the first key, and kept when that key is removed. It opens nothing.
 * 3. One key is its 32 bytes. Several are text: a first line, then `seal`, `open` and `digest` with a key as hex each.
 */

export type KeyRing = {
  readonly current: Uint8Array;
  /** Keys that still open what they sealed, newest first. */
  readonly older: readonly Uint8Array[];
  readonly digestKey: Uint8Array;
};

export const keyBytes = 32;
const header = 'quittance seal keys 1';

export const deriveKey = (key: Uint8Array, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', key, new Uint8Array(0), purpose, keyBytes));

const digestKeyOf = (key: Uint8Array): Uint8Array => deriveKey(key, 'quittance v1 digest');

/** A ring of one key, or of several with the current one first and the first of the ledger last. */
export function createKeyRing([current, ...older]: readonly [Uint8Array, ...Uint8Array[]]): KeyRing {
  return { current, older, digestKey: digestKeyOf(older.at(-1) ?? current) };
}

/** Throws `config.invalid` for anything but keys. The message never quotes the value: it may be most of a key. */
export function parseKeyRing(bytes: unknown): KeyRing {
  if (bytes instanceof Uint8Array && bytes.byteLength === keyBytes) return createKeyRing([bytes]);
  if (bytes instanceof Uint8Array) {
    const ring = parseText(Buffer.from(bytes).toString('latin1'));
    if (ring !== undefined) return ring;
  }
  const type = bytes === null ? 'null' : typeof bytes;
  const found = bytes instanceof Uint8Array ? `${bytes.byteLength} bytes` : `a value of type ${type}`;
  throw new QuittanceError(
    'config.invalid',
    `The seal key must be a Uint8Array of ${keyBytes} bytes; found ${found}. Create one with ` +
      `crypto.randomBytes(${keyBytes}) and keep it: no other key opens what it sealed.`,
  );
}

/** True if these bytes could be the keys of a ledger. */
export function isKeyRing(bytes: Uint8Array): boolean {
  return bytes.byteLength === keyBytes || parseText(Buffer.from(bytes).toString('latin1')) !== undefined;
}

export function formatKeyRing({ current, older, digestKey }: KeyRing): Uint8Array {
  const isFirst = older.length === 0 && Buffer.from(digestKey).equals(digestKeyOf(current));
  if (isFirst) return current;
  const hex = (key: Uint8Array): string => Buffer.from(key).toString('hex');
  const lines = [
    `seal ${hex(current)}`,
    ...older.map((key) => `open ${hex(key)}`),
    `digest ${hex(digestKey)}`,
  ];
  return new Uint8Array(Buffer.from(`${header}\n${lines.join('\n')}\n`, 'latin1'));
}

/**
 * The text by which a ledger recognizes its keys. It reveals nothing else about them. Keys that were never rotated have the
 * check that earlier versions stored.
 */
export function checkOfKeys(bytes: Uint8Array, ledgerId: string): string {
  const { current, digestKey } = parseKeyRing(bytes);
  const ofCurrent = hashKey(current, ledgerId);
  return bytes.byteLength === keyBytes ? ofCurrent : `ring:${hashKey(digestKey, ledgerId)}:${ofCurrent}`;
}

/**
 * True if these are the keys of the ledger with this check. After a rotation they must include the new key: without it, a
 * process could not open what the others seal. Earlier versions did not store which key that is.
 */
export function passKeyCheck(bytes: Uint8Array, ledgerId: string, check: string): boolean {
  const { current, older, digestKey } = parseKeyRing(bytes);
  const known = [current, ...older].map((key) => hashKey(key, ledgerId));
  const [kind, ofDigestKey, ofCurrent] = check.split(':');
  if (kind !== 'ring') return known.includes(check);
  return (
    ofDigestKey === hashKey(digestKey, ledgerId) && (ofCurrent === undefined || known.includes(ofCurrent))
  );
}

/** True if a text has the form of `checkOfKeys`. Earlier versions did not store the new key. */
export const isCheckOfKeys = (text: string): boolean =>
  /^(?:ring:[0-9a-f]{64}(?::[0-9a-f]{64})?|[0-9a-f]{64})$/.test(text);

const hashKey = (key: Uint8Array, ledgerId: string): string =>
  hash('sha256', Buffer.concat([Buffer.from(`quittance seal key check ${ledgerId}\n`), key]), 'hex');

function parseText(text: string): KeyRing | undefined {
  const [first, ...lines] = text.trimEnd().split('\n');
  if (first !== header) return undefined;
  const keys = { seal: [] as Uint8Array[], open: [] as Uint8Array[], digest: [] as Uint8Array[] };
  for (const line of lines) {
    const [, word = '', hex = ''] = /^(seal|open|digest) ([0-9a-f]{64})$/.exec(line) ?? [];
    if (hex === '') return undefined;
    keys[word as keyof typeof keys].push(new Uint8Array(Buffer.from(hex, 'hex')));
  }
  const [current, second] = keys.seal;
  const [digestKey, another] = keys.digest;
  if (current === undefined || digestKey === undefined || (second ?? another) !== undefined) return undefined;
  return { current, older: keys.open, digestKey };
}
