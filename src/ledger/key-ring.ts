/**
 * The seal keys of a ledger. A ledger begins with one key of 32 bytes. A rotation adds a new one; the old ones open what
 * they sealed until everything is sealed again.
 *
 * 1. The current key seals and signs. Every key opens.
 * 2. Digests are recorded for ever and compared again with every repeated call. So their key never changes: it is derived
 *    from the first key, and kept when that key is removed. It opens nothing.
 * 3. One key is its 32 bytes. Several are text: a first line, then `seal`, `open` and `digest` with a key as hex each.
 */
import { hash, hkdfSync } from 'node:crypto';
import { QuittanceError } from '../base/error.ts';

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

/** Throws `config.invalid` for anything else than keys. Never says what was found: it may be most of a key. */
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

/** Could these bytes be the keys of a ledger? */
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
 * What a ledger stores to recognize its keys, and what tells nothing else about them. Keys that were never rotated have the
 * check that earlier versions stored.
 */
export function checkOfKeys(bytes: Uint8Array, ledgerId: string): string {
  const { current, digestKey } = parseKeyRing(bytes);
  const ofCurrent = hashKey(current, ledgerId);
  return bytes.byteLength === keyBytes ? ofCurrent : `ring:${hashKey(digestKey, ledgerId)}:${ofCurrent}`;
}

/**
 * Are these the keys of the ledger with this check? After a rotation they must include the new key: without it, a process
 * could not open what the others seal. Earlier versions did not store which key that is.
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

/** Does a text have the form of `checkOfKeys`? Earlier versions did not store the new key. */
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
