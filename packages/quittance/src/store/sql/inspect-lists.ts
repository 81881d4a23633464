/**
 * Checks that the rows of lists match the entries. Every call is listed again from its entries and compared with its row;
 * then the questions, the counts and the words are. Reads as of one moment: rows and entries are written together.
 *
 * Entries that cannot be read are reported by the check of the chain. Nothing is said about the rows of their session.
 */
import type { SessionTally, TallyChange } from '../../ledger/call-tally.ts';
import { TallyChanges } from '../../ledger/call-tally.ts';
import type { ListedCall } from '../../ledger/listed-call.ts';
import type { OrderedCall, SessionKey } from './calls-in-order.ts';
import { readCallsInOrder } from './calls-in-order.ts';
import type { SqlNames, SqlReader } from './driver.ts';
import { readStoredName } from './driver.ts';
import type { TableFinding } from './findings.ts';
import { adviseRebuild, Findings } from './findings.ts';

export type StoredRow = Readonly<Record<string, unknown>>;

/** A table of lists: the select of its rows, the columns that entries tell, and those that name a row. */
export type InspectedTable = {
  readonly select: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
};

/** A call that its entries list, with its place. */
export type InspectedCall = OrderedCall & { readonly call: ListedCall };

export type InspectDialect = SqlNames & {
  readonly entriesInOrder: string;
  readonly inspected: {
    readonly calls: Omit<InspectedTable, 'select'>;
    readonly confirmations: InspectedTable;
    readonly sessions: InspectedTable;
    readonly tallies: InspectedTable;
  };
  readonly toCallRow: (call: InspectedCall) => StoredRow;
  readonly toConfirmationRows: (call: InspectedCall) => readonly StoredRow[];
  readonly toSessionRow: (session: SessionKey, tally: SessionTally, first: number) => StoredRow;
  /** Undefined for calls that the table does not count. */
  readonly toTallyRow: (tally: TallyChange) => StoredRow | undefined;
  /** The rows of these calls in the table of calls. */
  readonly readCallRows: (driver: SqlReader, calls: readonly OrderedCall[]) => Promise<readonly StoredRow[]>;
  /** Rows of the table of calls without a first entry. */
  readonly strayCalls: string;
  readonly createWordCheck: (driver: SqlReader) => WordCheck;
};

/** Compares the search index with the words of calls. */
export type WordCheck = {
  /** The calls with other words in the index. */
  readonly compare: (calls: readonly InspectedCall[]) => Promise<readonly OrderedCall[]>;
  /** After all calls: words that belong to none of them, by place or in words. */
  readonly end: () => Promise<readonly (Place & { readonly message?: string })[]>;
};

type Place = Pick<TableFinding, 'sessionId' | 'callId' | 'position'>;
type Due = { readonly row: StoredRow | undefined; readonly place: Place; readonly session: SessionKey };

const callsPerPage = 250;

export async function* inspectLists(
  driver: SqlReader,
  dialect: InspectDialect,
  signal: AbortSignal,
): AsyncGenerator<TableFinding, void, undefined> {
  const { inspected } = dialect;
  const unreadable = new Set<SessionKey>();
  const calls = new Findings('the read table of calls');
  const words = new Findings('the search index');
  const confirmations = new Map<string, Due>();
  const sessions = new Map<string, Due>();
  const tallies = new TallyChanges();
  const wordCheck = dialect.createWordCheck(driver);
  const placeOf = ({ session_id, call_id, position }: OrderedCall): Place => ({
    sessionId: readStoredName(dialect, session_id),
    callId: readStoredName(dialect, call_id),
    position,
  });
  const compareCalls = async (page: readonly OrderedCall[]): Promise<void> => {
    const known = new Map<string, StoredRow>();
    for (const row of await dialect.readCallRows(driver, page))
      known.set(keyOf(row, inspected.calls.key), row);
    const listed = page.filter((each): each is InspectedCall => each.call !== undefined);
    for (const each of page) {
      const { session, call_id, position } = each;
      const key = keyOf({ session_id: session, call_id, position }, inspected.calls.key);
      const due = each.call === undefined ? undefined : dialect.toCallRow(each as InspectedCall);
      const problem = findProblem(inspected.calls, due, known.get(key));
      if (problem !== undefined) calls.add({ ...say('calls', problem), ...placeOf(each) });
    }
    for (const each of await wordCheck.compare(listed)) words.add({ ...otherWords, ...placeOf(each) });
    for (const each of listed) {
      tallies.add(undefined, each.call.summary);
      for (const row of dialect.toConfirmationRows(each))
        confirmations.set(keyOf(row, inspected.confirmations.key), {
          row,
          place: placeOf(each),
          session: each.session,
        });
    }
  };
  let page: OrderedCall[] = [];
  for await (const each of readCallsInOrder(driver, dialect.entriesInOrder)) {
    if (signal.aborted) return;
    const { session, session_id, tally, first } = each;
    if (!each.isWhole) unreadable.add(session);
    else if (each.call_id !== null) page.push(each);
    if (each.isEnd) {
      const row = dialect.toSessionRow(session, tally, first);
      const place = { sessionId: readStoredName(dialect, session_id) };
      sessions.set(keyOf(row, inspected.sessions.key), { row, place, session });
    }
    if (page.length >= callsPerPage) {
      await compareCalls(page);
      page = [];
    }
  }
  await compareCalls(page);
  for (const row of await driver.all<StoredRow>(dialect.strayCalls))
    calls.add({ ...say('calls', strayRow), ...placeIn(row, dialect) });
  yield* calls.all();
  const compareAll = (name: 'confirmations' | 'sessions' | 'tallies', due: Map<string, Due>) =>
    compareTable(driver, dialect, name, due, unreadable);
  if (signal.aborted) return;
  yield* await compareAll('confirmations', confirmations);
  yield* await compareAll('sessions', sessions);
  if (unreadable.size === 0) yield* await compareAll('tallies', toTallyRows(tallies, dialect));
  if (signal.aborted) return;
  for (const { message, ...place } of await wordCheck.end())
    words.add({
      ...otherWords,
      ...(message !== undefined && { message: `${message} ${adviseRebuild}` }),
      ...place,
    });
  yield* words.all();
}

async function compareTable(
  driver: SqlReader,
  dialect: InspectDialect,
  name: 'confirmations' | 'sessions' | 'tallies',
  due: Map<string, Due>,
  unreadable: ReadonlySet<SessionKey>,
): Promise<Iterable<TableFinding>> {
  const found = new Findings(`the read table of ${name}`);
  const table = dialect.inspected[name];
  for await (const rows of driver.pages<StoredRow>(table.select))
    for (const row of rows) {
      const key = keyOf(row, table.key);
      const expected = due.get(key);
      due.delete(key);
      const session = expected?.session ?? row['session'] ?? row['session_id'];
      if (unreadable.has(session as SessionKey)) continue; // of the same type in every row of a store
      const problem = findProblem(table, expected?.row, row);
      if (problem !== undefined)
        found.add({ ...say(name, problem), ...(expected?.place ?? placeIn(row, dialect)) });
    }
  for (const { place, session, row } of due.values())
    if (!unreadable.has(session) && row !== undefined) found.add({ ...say(name, missingRow), ...place });
  return found.all();
}

function toTallyRows(tallies: TallyChanges, { toTallyRow, inspected }: InspectDialect): Map<string, Due> {
  const due = new Map<string, Due>();
  for (const tally of tallies.take()) {
    const row = toTallyRow(tally);
    if (row !== undefined) due.set(keyOf(row, inspected.tallies.key), { row, place: {}, session: '' });
  }
  return due;
}

const strayRow = 'has a row without an entry';
const missingRow = 'is missing a row';

/** How a row differs from the one that the entries give; undefined if it does not. */
function findProblem(
  { columns }: Pick<InspectedTable, 'columns'>,
  due: StoredRow | undefined,
  row: StoredRow | undefined,
): string | undefined {
  if (row === undefined) return due === undefined ? undefined : missingRow;
  if (due === undefined) return strayRow;
  const other = columns.filter((name) => (row[name] ?? null) !== (due[name] ?? null));
  return other.length === 0 ? undefined : `disagrees with the entries (${other.join(', ')})`;
}

const say = (name: string, problem: string): TableFinding => ({
  kind: 'read_table',
  message: `The read table of ${name} ${problem}. ${adviseRebuild}`,
});

const otherWords: TableFinding = {
  kind: 'read_table',
  message: `The search index has other words for a call than the entries. ${adviseRebuild}`,
};

const keyOf = (row: StoredRow, key: readonly string[]): string =>
  JSON.stringify(key.map((column) => row[column] ?? null));

const placeIn = (row: StoredRow, names: SqlNames): Place => ({
  sessionId: readStoredName(names, row['session_id']),
  callId: readStoredName(names, row['call_id']),
  position: typeof row['position'] === 'number' ? row['position'] : undefined,
});
