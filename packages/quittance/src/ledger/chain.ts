/**
 * The hash chain of a session. Every entry's hash covers the previous hash, the entry's sequence and its text. So
 * changing, removing or moving an entry changes every later hash. Positions of a store are not part of it.
 */
import { hash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { QuittanceError } from '../base/error.ts';
import { isJsonObject } from '../base/json.ts';

/** The end of a session's chain: its last entry. */
export type Head = { readonly sessionId: string; readonly sequence: number; readonly hash: string };

/** Selects a page of heads. The store chooses the order of the sessions and never changes it. */
export type HeadQuery = {
  /** Sessions after this one, whether it still exists or not. */
  readonly after?: string | undefined;
  readonly limit: number;
  /** As they were when the entry at this position was the last. Sessions removed since are left out. */
  readonly at?: number | undefined;
};

/** The hash before the first entry of a session. */
export const genesisHash = (sessionId: string): string =>
  // Quoted, because in UTF-8 all sessions that differ only in a lone surrogate would be the same.
  hash('sha256', `quittance v1 session ${JSON.stringify(sessionId)}`, 'hex');

/**
 * The hash of an entry. A hash has 64 hex digits, a sequence ends at its line break, and the text is the rest. So no
 * two entries have the same input.
 */
export const chainHash = (previous: string, sequence: number, text: string): string =>
  hash('sha256', `${previous}\n${sequence}\n${text}`, 'hex');

/** A head in the spelling of files. */
export const headToWire = ({ sessionId, sequence, hash: last }: Head): JsonObject => ({
  session: sessionId,
  sequence,
  hash: last,
});

/** Reads a head back; throws `ledger.damaged` for any other value. */
export function headFromWire(value: JsonValue): Head {
  const { session, sequence, hash: last } = isJsonObject(value) ? value : {};
  if (typeof session === 'string' && typeof sequence === 'number' && typeof last === 'string')
    return { sessionId: session, sequence, hash: last };
  throw new QuittanceError('ledger.damaged', 'The head of a chain must be {session, sequence, hash}.');
}

/**
 * The digest of the bodies in the chained text. It proves them unchanged, but is useless for guessing them once the
 * salt is erased. A salt is base64url and bodies start with a bracket, so the two cannot be confused.
 */
export const bodiesDigest = (salt: string, bodies: string): string =>
  `sha256:${hash('sha256', salt + bodies, 'hex')}`;
