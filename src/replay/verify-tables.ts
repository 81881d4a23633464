/**
 * Whether the read tables say what the entries say. They are no part of the chain, so somebody who changes them changes
 * what is listed and nothing that is kept: found here, and mended by `quittance rebuild`.
 */
import type { Call } from '../call/call.ts';
import type { CallQuery, CallSummary, SessionSummary } from '../ledger/call-query.ts';
import type { Head } from '../ledger/chain.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { toCallSummary } from '../ledger/summarise-call.ts';
import { countCall, newSessionTally } from '../ledger/summarise-session.ts';
import type { SessionTally } from '../ledger/summarise-session.ts';
import { foldStored } from '../runtime/fold-stored.ts';
import type { ChainedCalls } from './chained-calls.ts';
import { keyOf } from './chained-calls.ts';
import { readPages } from '../ledger/read-pages.ts';

export type TableProblem = {
  readonly sessionId: string;
  readonly callId: string | undefined;
  readonly message: string;
};

/** Problems as they are found. `each` is told of every call that was looked at. */
export async function* checkReadTables(
  ledger: Ledger,
  signal: AbortSignal,
  each: () => void,
  chained: ChainedCalls,
  heads: readonly Head[],
): AsyncGenerator<TableProblem, void, undefined> {
  const seen = new Set<string>();
  const hashes = new Map(heads.map(({ sessionId, hash }) => [sessionId, hash]));
  const hasGrown = async (sessionId: string): Promise<boolean> => {
    const then = hashes.get(sessionId);
    const [now] = await ledger.readHeads(sessionId);
    return then === undefined || then !== now?.hash;
  };
  const counted = new Map<string, SessionTally>();
  const everything = Number.POSITIVE_INFINITY;
  for await (const page of readPages((query) => ledger.queryCalls(query), {}, everything, signal)) {
    for (const row of page.rows) {
      each();
      const { sessionId, callId } = row;
      const tally = counted.get(sessionId) ?? newSessionTally(sessionId);
      counted.set(sessionId, tally);
      countCall(tally, row);
      seen.add(keyOf(sessionId, callId));
      const wrong = (await compareCall(ledger, row)) ?? (await compareChain(ledger, row, chained, hasGrown));
      if (wrong !== undefined) yield { sessionId, callId, message: wrong };
    }
    await new Promise(setImmediate);
  }
  for await (const page of readPages((query) => ledger.querySessions(query), {}, everything, signal))
    for (const session of page.rows) {
      const tally = counted.get(session.sessionId) ?? newSessionTally(session.sessionId);
      counted.delete(session.sessionId);
      if (isSameCount(session, tally) || (await recount(ledger, session.sessionId, signal))) continue;
      if (signal.aborted) return; // counted in part only
      const message = 'The read table of sessions counts other calls than there are.';
      yield { sessionId: session.sessionId, callId: undefined, message };
    }
  if (signal.aborted) return;
  for (const [sessionId] of counted)
    if (!(await hasGrown(sessionId)))
      yield {
        sessionId,
        callId: undefined,
        message: 'The read table of sessions does not list the session.',
      };
  for (const { sessionId, callId } of chained.without(seen))
    if (!(await hasGrown(sessionId)))
      yield { sessionId, callId, message: 'The read table of calls does not list the call.' };
}

/** Whether the call is found by its id as it is in the chain. */
async function compareChain(
  ledger: Ledger,
  { sessionId, callId }: CallSummary,
  chained: ChainedCalls,
  hasGrown: (sessionId: string) => Promise<boolean>,
): Promise<string | undefined> {
  const stored = await ledger.readCall(sessionId, callId);
  if (stored === undefined || chained.isSame(sessionId, callId, stored) || (await hasGrown(sessionId)))
    return undefined;
  return 'Looked up by its id, the call has other events or another version than in the chain.';
}

/** What is wrong with a row, if anything. Somebody may be writing meanwhile: what differs is looked at again. */
async function compareCall(ledger: Ledger, row: CallSummary): Promise<string | undefined> {
  let found: CallSummary | undefined = row;
  for (let look = 0; look < 3; look++) {
    const stored = await ledger.readCall(row.sessionId, row.callId);
    let call: Call | undefined;
    try {
      call = stored && foldStored(stored);
    } catch (error) {
      // An index that was changed finds anything.
      if (!(error instanceof TypeError)) throw error;
      return 'Looked up by its id, the call has events that cannot follow one another.';
    }
    if (call === undefined) return 'The read table of calls lists a call that no entry tells of.';
    if (found !== undefined && isSame(found, toCallSummary(call))) return undefined;
    found = await readRow(ledger, row);
  }
  return 'The read table of calls says something else about the call than its entries.';
}

/** The row of a call as it is now. Looked for in the moment it names: a long session is not gone through for it. */
async function readRow(
  ledger: Ledger,
  { sessionId, callId, requestedAt }: CallSummary,
): Promise<CallSummary | undefined> {
  const moment = { since: requestedAt, until: requestedAt + 1, text: callId };
  for (let cursor: string | undefined; ;) {
    const { rows, next } = await ledger.queryCalls({ sessionId, ...moment, limit: 1_000, cursor });
    const found = rows.find((row) => row.callId === callId);
    if (found !== undefined || next === undefined) return found;
    cursor = next;
  }
}

/** Both are written by one function; text that is no text for a database is kept as near to it as can be. */
const isSame = (one: CallSummary, other: CallSummary): boolean =>
  (Object.keys(other) as (keyof CallSummary)[]).every((key) => same(one[key], other[key]));

const same = (one: unknown, other: unknown): boolean =>
  typeof one === 'string' && typeof other === 'string'
    ? one.toWellFormed() === other.toWellFormed()
    : one === other;

const isSameCount = (one: SessionSummary, other: SessionSummary): boolean =>
  one.calls === other.calls &&
  one.openCalls === other.openCalls &&
  one.failures === other.failures &&
  one.denials === other.denials &&
  one.unresolved === other.unresolved;

/** Counts the calls of one session again, in case it changed while all were counted. */
async function recount(ledger: Ledger, sessionId: string, signal: AbortSignal): Promise<boolean> {
  const tally = newSessionTally(sessionId);
  const calls = readPages<CallSummary, CallQuery>(
    (query) => ledger.queryCalls(query),
    { sessionId },
    Number.POSITIVE_INFINITY,
    signal,
  );
  for await (const { rows } of calls) for (const row of rows) countCall(tally, row);
  const [found] = (await ledger.querySessions({ sessionId, limit: 1 })).rows;
  return found !== undefined && isSameCount(found, tally);
}
