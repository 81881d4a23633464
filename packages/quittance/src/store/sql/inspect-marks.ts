/** Checks the marks and the cursors of a ledger against its entries. */
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import { ledgerSessionId } from '../../ledger/ledger.ts';
import type { SessionKey } from './calls-in-order.ts';
import type { SqlNames, SqlReader } from './driver.ts';
import { readStoredName } from './driver.ts';
import type { TableFinding } from './findings.ts';
import { Findings } from './findings.ts';

export type MarkDialect = SqlNames & {
  /** Marks of entries about a claim, a counter and a state. */
  readonly claimMark: (key: string) => string;
  readonly counterMark: (name: string) => string;
  readonly stateMark: (session: SessionKey, subject: string) => string;
  /** `key` and `position` of every mark. */
  readonly marks: string;
  /** `position`, `session` and `text` of the entries that set a mark, in order of position. */
  readonly markedEntries: string;
  /** Other marks that there must be. */
  readonly readOtherMarks: (
    driver: SqlReader,
  ) => Promise<readonly (readonly [key: string, position: number])[]>;
};

/** In texts of entries that set or remove a mark, or say that a session was removed. */
export const markingTexts: readonly string[] = [
  ',"claim":',
  ',"release":',
  ',"moves":',
  ',"totals":',
  '"session.dropped"',
];

const advice = 'Run `quittance rebuild` to rebuild the marks from the entries.';

/** Every mark must point to the last entry that states its value, and none may be missing. */
export async function inspectMarks(driver: SqlReader, dialect: MarkDialect): Promise<Iterable<TableFinding>> {
  const found = new Findings('the table "marks"');
  const { due, hasDropped } = await findDue(driver, dialect);
  const say = (message: string, position?: number): void =>
    found.add({ kind: 'side_row', position, message: `${message} ${advice}` });
  type Mark = { readonly key: string; readonly position: number };
  for await (const marks of driver.pages<Mark>(dialect.marks))
    for (const { key, position } of marks) {
      const expected = due.get(key);
      due.delete(key);
      if (expected === position) continue;
      if (expected === undefined) say(`The table "marks" has a row without an entry: ${show(key)}.`);
      else
        say(
          `The mark of ${show(key)} points to position ${String(position)}, but the last entry about it ` +
            `is at ${expected}.`,
          expected,
        );
    }
  for (const [key, position] of due) {
    // Another session may have taken over the key and been removed since.
    if (hasDropped && key.startsWith('claim ')) continue;
    say(`The mark of ${show(key)} is missing.`, position);
  }
  return found.all();
}

const show = (key: string): string => (key === '' ? 'the beginning' : String(key).slice(0, 200));

async function findDue(
  driver: SqlReader,
  dialect: MarkDialect,
): Promise<{ readonly due: Map<string, number>; readonly hasDropped: boolean }> {
  const due = new Map<string, number>([['', 0]]);
  let hasDropped = false;
  type Row = { readonly position: number; readonly session: SessionKey; readonly text: string };
  for await (const rows of driver.pages<Row>(dialect.markedEntries))
    for (const { position, session, text } of rows) {
      const entry = read(text);
      if (entry === undefined) continue;
      const { claim, releaseClaim, totals = [], moves = [] } = entry;
      for (const { counter } of totals) due.set(dialect.counterMark(counter), position);
      for (const { subject } of moves) due.set(dialect.stateMark(session, subject), position);
      if (releaseClaim !== undefined) due.delete(dialect.claimMark(releaseClaim));
      if (claim !== undefined) due.set(dialect.claimMark(claim.key), position);
      hasDropped ||=
        entry.sessionId === ledgerSessionId && entry.events.some(({ type }) => type === 'session.dropped');
    }
  for (const [key, position] of await dialect.readOtherMarks(driver)) due.set(key, position);
  return { due, hasDropped };
}

function read(text: string): ReadEntry | undefined {
  try {
    return readEntry({ text, bodies: undefined });
  } catch {
    return undefined; // the chain check reports it
  }
}

type CursorRow = {
  readonly name: unknown;
  readonly position: unknown;
  readonly holder: unknown;
  readonly owner_id: unknown;
};

/** `cursors`: the select of all cursors. `last`: the last position that a reader may have reached. */
export async function inspectCursors(
  driver: SqlReader,
  names: SqlNames,
  cursors: string,
  last: number,
): Promise<readonly TableFinding[]> {
  const found: TableFinding[] = [];
  for (const row of await driver.all<CursorRow>(cursors)) {
    const { position, holder, owner_id: owner } = row;
    const name = readStoredName(names, row.name);
    const wrong =
      name === undefined
        ? 'has a name that was not written by this program'
        : !Number.isInteger(position) || Number(position) < 0
          ? 'has an invalid position'
          : Number(position) > last
            ? `has read up to position ${String(position)}, but the last entry is at ${last}: later ` +
              'entries are missing'
            : (holder === null) !== (owner === null)
              ? 'has a holder without an owner, or an owner without a holder'
              : [holder, owner].some((each) => each !== null && readStoredName(names, each) === undefined)
                ? 'has a holder or an owner that was not written by this program'
                : undefined;
    if (wrong !== undefined)
      found.push({
        kind: 'side_row',
        message: `The cursor ${JSON.stringify(name ?? '')} ${wrong}. Compare the ledger with an anchor or a copy; \`quittance behaviors\` drops a cursor.`,
      });
  }
  return found;
}
