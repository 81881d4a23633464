/**
 * An anchor: where the chains of a ledger stood at some moment, kept where whoever can write the ledger cannot. With
 * it, verifying also finds a chain that was computed anew, a cut tail and a session that is gone.
 */
import type { KeyObject } from 'node:crypto';
import { hash, sign, verify } from 'node:crypto';
import type { JsonValue } from '../base/json.ts';
import { QuittanceError } from '../base/error.ts';
import { isJsonObject } from '../base/json.ts';
import { readJsonText } from '../base/json-text.ts';
import type { Head } from './chain.ts';
import { headFromWire, headToWire } from './chain.ts';

export type Anchor = {
  /** Milliseconds since 1970 by the ledger's clock. */
  readonly at: number;
  /** By session id, each once. */
  readonly heads: readonly Head[];
  /** Of all of the above: short enough to be written down or published. */
  readonly digest: string;
  /** By the key of whoever made it, as base64url. */
  readonly signature?: string;
};

/** Puts heads into an anchor. `at` is when they were read. */
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

/** Whether the anchor was signed with the other half of this key, and is as it was then. */
export const verifyAnchor = (anchor: Anchor, publicKey: KeyObject): boolean =>
  anchor.signature !== undefined &&
  anchor.digest === digestOf(anchor.heads, anchor.at) &&
  verify(
    undefined,
    message(anchor),
    edwards(publicKey, 'public'),
    Buffer.from(anchor.signature, 'base64url'),
  );

/** The anchor as a text to keep: JSON, one head to a line. */
export function anchorToText({ at, heads, digest, signature }: Anchor): string {
  const lines = heads.map((head) => `    ${JSON.stringify(headToWire(head))}`).join(',\n');
  return (
    `{\n  "quittance_anchor": 1,\n  "at": ${at},\n  "heads": [${lines === '' ? '' : `\n${lines}\n  `}],\n` +
    `  "digest": ${JSON.stringify(digest)}` +
    (signature === undefined ? '' : `,\n  "signature": ${JSON.stringify(signature)}`) +
    '\n}\n'
  );
}

/** Reads an anchor back. Throws where it is none or its digest says that it was changed. */
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
  if (anchor.digest !== digest) throw damaged('it was changed since: its digest is another one');
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
  new QuittanceError('ledger.damaged', `This is not an anchor as it was written: ${problem}.`, {}, cause);
