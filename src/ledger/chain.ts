/**
 * The chain of a session: every entry's hash covers the one before, its place and its text, so that nothing can be
 * changed, taken out or moved without every later hash being another one. Positions of a store are not in it.
 */
import { hash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { QuittanceError } from '../base/error.ts';
import { isJsonObject } from '../base/json.ts';

/** Where the chain of a session stands: its last entry. */
export type Head = { readonly sessionId: string; readonly sequence: number; readonly hash: string };

/** Which heads to read: a page of them, in an order of the sessions that is the store's own and always the same. */
export type HeadQuery = {
  /** Those that come after this session, whether it is still there or not. */
  readonly after?: string | undefined;
  readonly limit: number;
  /** As they stood when the entry at this position was the last. Sessions removed since are left out. */
  readonly at?: number | undefined;
};

/** What the first entry of a session follows. */
export const genesisHash = (sessionId: string): string =>
  // Quoted, because UTF-8 would make one session of all that differ only in a lone surrogate.
  hash('sha256', `quittance v1 session ${JSON.stringify(sessionId)}`, 'hex');

/**
 * The hash of an entry. A hash has 64 hex digits, a sequence ends at its line, and the text is all the rest: no two
 * entries are written the same.
 */
export const chainHash = (previous: string, sequence: number, text: string): string =>
  hash('sha256', `${previous}\n${sequence}\n${text}`, 'hex');

/** A head in the spelling of files. */
export const headToWire = ({ sessionId, sequence, hash: last }: Head): JsonObject => ({
  session: sessionId,
  sequence,
  hash: last,
});

/** Reads a head back; throws `ledger.damaged` where it is none. */
export function headFromWire(value: JsonValue): Head {
  const { session, sequence, hash: last } = isJsonObject(value) ? value : {};
  if (typeof session === 'string' && typeof sequence === 'number' && typeof last === 'string')
    return { sessionId: session, sequence, hash: last };
  throw new QuittanceError('ledger.damaged', 'The head of a chain must be {session, sequence, hash}.');
}
