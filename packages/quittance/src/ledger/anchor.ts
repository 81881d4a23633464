/**
 * An anchor: the heads of a ledger's chains at some moment, stored where people who can write the ledger cannot
 * change it. With an anchor, verification also finds a recomputed chain, a cut tail and a missing session.
 */
import type { KeyObject } from 'node:crypto';
import { hash, sign, verify } from 'node:crypto';
import type { JsonValue } from '../base/json.ts';
import { QuittanceError } from '../base/error.ts';
import { isJsonObject, readJsonText } from '../base/json.ts';
import type { Head } from './chain.ts';
import { headFromWire, headToWire } from './chain.ts';

export type Anchor = {
  /** Milliseconds since 1970, by the ledger's clock. */
  readonly at: number;
  /** By session id, each once. */
  readonly heads: readonly Head[];
  /** Digest of the fields above: short enough to be written down or published. */
  readonly digest: string;
  /** Made with the author's key, as base64url. */
  readonly signature?: string;
};

/** Creates an anchor from heads. `at` is the time when they were read. */
export function createAnchor(heads: Iterable<Head>, at: number): Anchor {
  const sorted = [...heads].sort((one, other) => compare(one.sessionId, other.sessionId));
  for (const [index, { sessionId }] of sorted.entries())
    if (sorted[index + 1]?.sessionId === sessionId)
      throw damaged(`session ${JSON.stringify(sessionId)} has two heads`);
  return { at, heads: sorted, digest: digestOf(sorted, at) };
}

/** Signs an anchor with an Ed25519 key. */
export const signAnchor = (anchor: Anchor, privateKey: KeyObject): Anchor => ({
  ...anchor,
  signature: sign(undefined, message(anchor), edwards(privateKey, 'private')).toString('base64url'),
});

/** True if the anchor was signed with the private half of this key and is unchanged. */
export const verifyAnchor = (anchor: Anchor, publicKey: KeyObject): boolean =>
  anchor.signature !== undefined &&
  anchor.digest === digestOf(anchor.heads, anchor.at) &&
  verify(
    undefined,
    message(anchor),
    edwards(publicKey, 'public'),
    Buffer.from(anchor.signature, 'base64url'),
  );

/** The anchor as text for storage: JSON, one head per line. */
export function anchorToText({ at, heads, digest, signature }: Anchor): string {
  const lines = heads.map((head) => `    ${JSON.stringify(headToWire(head))}`).join(',\n');
  return (
    `{\n  "quittance_anchor": 1,\n  "at": ${at},\n  "heads": [${lines === '' ? '' : `\n${lines}\n  `}],\n` +
    `  "digest": ${JSON.stringify(digest)}` +
    (signature === undefined ? '' : `,\n  "signature": ${JSON.stringify(signature)}`) +
    '\n}\n'
  );
}

/** Reads an anchor back. Throws if the text is not an anchor or its digest shows a change. */
export function parseAnchor(text: string): Anchor {
  const value = parse(text);
  if (!isJsonObject(value) || typeof value['quittance_anchor'] !== 'number')
    throw damaged('it has no "quittance_anchor"');
  if (value['quittance_anchor'] > 1)
    throw new QuittanceError(
      'ledger.newer',
      'This anchor was written by a newer version. Update the package.',
    );
  const { at, heads, digest, signature } = value;
  if (typeof at !== 'number' || typeof digest !== 'string' || !Array.isArray(heads))
    throw damaged('"at", "heads" or "digest" is missing');
  if (typeof signature !== 'string' && signature !== undefined) throw damaged('"signature" is not a text');
  const anchor = createAnchor((heads as readonly JsonValue[]).map(headFromWire), at);
  if (anchor.digest !== digest) throw damaged('its digest does not match, so it was changed');
  return { ...anchor, ...(signature !== undefined && { signature }) };
}

const digestOf = (heads: readonly Head[], at: number): string =>
  `sha256:${hash('sha256', `quittance v1 anchor\n${JSON.stringify([at, heads.map(headToWire)])}`, 'hex')}`;

const message = ({ digest }: Anchor): Buffer => Buffer.from(`quittance v1 anchor\n${digest}`);

function edwards(key: KeyObject, type: 'private' | 'public'): KeyObject {
  if (key.type === type && key.asymmetricKeyType === 'ed25519') return key;
  throw new QuittanceError(
    'config.invalid',
    `An anchor takes a ${type} Ed25519 key; found a ${key.type} one of type ${key.asymmetricKeyType ?? 'none'}. ` +
      "Make a pair with crypto.generateKeyPairSync('ed25519').",
  );
}

function parse(text: string): JsonValue {
  try {
    return readJsonText(text);
  } catch (cause) {
    throw damaged('it is not JSON', cause);
  }
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

const damaged = (problem: string, cause?: unknown): QuittanceError =>
  new QuittanceError('ledger.damaged', `This is not a valid anchor: ${problem}.`, {}, cause);
