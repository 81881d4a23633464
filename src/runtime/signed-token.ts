/**
 * A decision about one question as a text that somebody can carry: in a link, a mail, a chat.
 *
 * 1. What it is good for stands in it in the clear and is signed with a key of the ledger; whoever changes one
 *    character has nothing. Nothing in it is secret, but whoever has it may use it.
 * 2. Reading never throws: whatever is not exactly what was written is undefined.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isJsonObject, readJsonText } from '../base/json.ts';
import type { JsonValue } from '../base/json.ts';

/** What a token is good for. */
export type TokenClaims = {
  readonly confirmationId: string;
  readonly inputDigest: string;
  /** Of the preview that is shown, where there is one. */
  readonly revision: number | undefined;
  /** Who alone may use it; whoever gives a name where undefined. */
  readonly by: string | undefined;
  /** Who made it and answers for its use; the host where undefined. */
  readonly madeBy: string | undefined;
  readonly decisions: readonly TokenDecision[];
  /** By the ledger's clock. */
  readonly expiresAt: number;
};

/** What can be decided with a token: no other arguments and no words for the model. */
export type TokenDecision = 'approve' | 'deny';

const prefix = 'qdt1.';
/** Far more than any token has. */
const longest = 8_192;

export function writeToken(claims: TokenClaims, key: Uint8Array): string {
  const { confirmationId, inputDigest, revision, by, madeBy, decisions, expiresAt } = claims;
  const fields = [
    confirmationId,
    inputDigest,
    revision ?? null,
    by ?? null,
    decisions,
    expiresAt,
    ...(madeBy === undefined ? [] : [madeBy]),
  ];
  const payload = Buffer.from(JSON.stringify(fields), 'utf8').toString('base64url');
  return `${prefix}${payload}.${sign(payload, key).toString('base64url')}`;
}

/** What a token says, if it was written with this key. */
export function readToken(token: unknown, key: Uint8Array): TokenClaims | undefined {
  if (typeof token !== 'string' || token.length > longest || !token.startsWith(prefix)) return undefined;
  const [payload, signature, more] = token.slice(prefix.length).split('.');
  if (payload === undefined || signature === undefined || more !== undefined) return undefined;
  const given = Buffer.from(signature, 'base64url');
  const made = sign(payload, key);
  // Decoding skips what is not base64url; only the exact text we wrote is taken.
  if (given.length !== made.length || given.toString('base64url') !== signature) return undefined;
  return timingSafeEqual(given, made) ? readClaims(payload) : undefined;
}

const sign = (payload: string, key: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${prefix}${payload}`, 'utf8').digest();

/** What is signed was written by us, perhaps by a version that knew more. */
function readClaims(payload: string): TokenClaims | undefined {
  let fields: JsonValue;
  try {
    fields = readJsonText(Buffer.from(payload, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (!Array.isArray(fields) || fields.length < 6 || fields.length > 7 || isJsonObject(fields))
    return undefined;
  const [confirmationId, inputDigest, revision, by, decisions, expiresAt, madeBy] =
    fields as readonly JsonValue[];
  if (typeof confirmationId !== 'string' || typeof inputDigest !== 'string') return undefined;
  if ((revision !== null && typeof revision !== 'number') || (by !== null && typeof by !== 'string'))
    return undefined;
  if (madeBy !== undefined && typeof madeBy !== 'string') return undefined;
  if (!Array.isArray(decisions) || !decisions.every(isTokenDecision) || typeof expiresAt !== 'number')
    return undefined;
  return {
    confirmationId,
    inputDigest,
    revision: revision ?? undefined,
    by: by ?? undefined,
    madeBy,
    decisions,
    expiresAt,
  };
}

export const isTokenDecision = (value: unknown): value is TokenDecision =>
  value === 'approve' || value === 'deny';
