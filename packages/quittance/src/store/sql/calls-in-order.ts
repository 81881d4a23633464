/** All calls of a ledger as their entries list them, session by session: to compare the rows of lists, or to write them. */
import { countCall, countEvent, newSessionTally } from '../../ledger/call-tally.ts';
import type { SessionTally } from '../../ledger/call-tally.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { ListedCall } from '../../ledger/listed-call.ts';
import { listCall } from '../../ledger/listed-call.ts';
import type { SqlReader, SqlValue } from './driver.ts';

/** What stands for a session in the rows of a store: its number, or its name. */
export type SessionKey = string | number;

export type OrderedCall = {
  readonly session: SessionKey;
  /** As stored; null for a session without a row. */
  readonly session_id: string | null;
  /** As stored; null for the entries of the session that are about no call. */
  readonly call_id: string | null;
  /** Of its first entry. */
  readonly position: number;
  /** Undefined for entries about no call, and if they have no request or cannot be read. */
  readonly call: ListedCall | undefined;
  /** Could every entry be read? */
  readonly isWhole: boolean;
  /** The position of the first entry of the session so far, and its counts so far. */
  readonly first: number;
  readonly tally: SessionTally;
  /** Is it the last of its session? */
  readonly isEnd: boolean;
};

/** An entry as `readCallsInOrder` selects it, in the order of sessions, calls and sequence. */
export type OrderedEntry = Pick<OrderedCall, 'session' | 'session_id' | 'call_id' | 'position'> & {
  readonly text: string;
  readonly bodies: string | null;
};

export async function* readCallsInOrder(
  driver: SqlReader,
  sql: string,
  values: readonly SqlValue[] = [],
): AsyncGenerator<OrderedCall, void, undefined> {
  let entries: OrderedEntry[] = [];
  let tally = newSessionTally('');
  let first = Number.MAX_SAFE_INTEGER;
  const take = (begun: OrderedEntry, isEnd: boolean): OrderedCall => {
    const { session, session_id, call_id, position } = begun;
    for (const entry of entries) first = Math.min(first, entry.position);
    return { session, session_id, call_id, position, ...list(entries, tally), first, tally, isEnd };
  };
  for await (const rows of driver.pages<OrderedEntry>(sql, values))
    for (const row of rows) {
      const [begun] = entries;
      if (begun !== undefined && (row.session !== begun.session || row.call_id !== begun.call_id)) {
        const isEnd = row.session !== begun.session;
        yield take(begun, isEnd);
        entries = [];
        if (isEnd) [tally, first] = [newSessionTally(''), Number.MAX_SAFE_INTEGER];
      }
      entries.push(row);
    }
  const [begun] = entries;
  if (begun !== undefined) yield take(begun, true);
}

function list(rows: readonly OrderedEntry[], tally: SessionTally): Pick<OrderedCall, 'call' | 'isWhole'> {
  try {
    const entries = rows.map(({ text, bodies }) => readEntry({ text, bodies: bodies ?? undefined }));
    for (const { events } of entries) for (const { at } of events) countEvent(tally, at);
    const call = rows[0]?.call_id === null ? undefined : listCall(entries);
    if (call !== undefined) countCall(tally, call.summary);
    return { call, isWhole: true };
  } catch {
    return { call: undefined, isWhole: false }; // the chain check reports it
  }
}
