/** Checks that every mark points to the last entry that states its value, and that none is missing. */
import type { ReadEntry } from '../../ledger/formats/v1/read-entry.ts';
import type { Database } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import { decode } from './entry-row.ts';
import type { TableFinding } from './table-finding.ts';
import { markOf } from './marks.ts';
import { nameSome } from './name-some.ts';
import { fromSqlText } from './sql-text.ts';

const advice = 'Run `quittance rebuild` to rebuild the marks from the entries.';

export const inspectMarks = (ledger: Database): Generator<TableFinding, void, undefined> =>
  nameSome('the table "marks"', wrongMarks(ledger), (found) => found);

function* wrongMarks(ledger: Database): Generator<TableFinding, void, undefined> {
  const due = findDue(ledger);
  const hasDropped = (prepareValue<number>(ledger, 'SELECT removals FROM ledger').get() ?? 0) > 0;
  const say = (message: string, position?: number): TableFinding => ({
    kind: 'side_row',
    position,
    message: `${message} ${advice}`,
  });
  const rows = prepareRow<{ key: string; position: number }>(ledger, 'SELECT key, position FROM marks');
  for (const { key, position } of rows.iterate()) {
    const expected = due.get(key);
    due.delete(key);
    if (expected === position) continue;
    if (expected === undefined) yield say(`The table "marks" has a row without an entry: ${show(key)}.`);
    else
      yield say(
        `The mark of ${show(key)} points to position ${String(position)}, but the last entry about it ` +
          `is at ${expected}.`,
        expected,
      );
  }
  for (const [key, position] of due) {
    // Another session may have taken over the key and been removed since.
    if (hasDropped && key.startsWith('claim ')) continue;
    yield say(`The mark of ${show(key)} is missing.`, position);
  }
}

const show = (key: string): string => (key === '' ? 'the beginning' : String(key).slice(0, 200));

/** The marks that must exist, by the entries that set them. */
function findDue(ledger: Database): Map<string, number> {
  const due = new Map<string, number>([[markOf.first, 0]]);
  const sessions = prepareRow<{ name: string; position: number }>(
    ledger,
    `SELECT name, min(position) AS position FROM entries AS e JOIN sessions AS s ON s.session = e.session
     GROUP BY e.session`,
  );
  for (const { name, position } of sessions.iterate()) {
    const sessionId = nameOf(name);
    if (sessionId !== undefined) due.set(markOf.session(sessionId), position);
  }
  type Row = { position: number; session: number; text: string };
  const entries = prepareRow<Row>(
    ledger,
    `SELECT position, session, text FROM entries
     WHERE marks IS NOT NULL OR instr(text, ',"claim":') OR instr(text, ',"release":') OR instr(text, ',"moves":')
     ORDER BY position`,
  );
  for (const { position, session, text } of entries.iterate()) {
    const entry = read(text);
    if (entry === undefined) continue;
    const { claim, releaseClaim, totals = [], moves = [] } = entry;
    for (const { counter } of totals) due.set(markOf.counter(counter), position);
    for (const { subject } of moves) due.set(markOf.state(session, subject), position);
    if (releaseClaim !== undefined) due.delete(markOf.claim(releaseClaim));
    if (claim !== undefined) due.set(markOf.claim(claim.key), position);
  }
  // Verification of any ledger compares the unresolved effects with the entries.
  type Effect = { position: number; session: number; tool: string; digest: string; call: string };
  const effects = prepareRow<Effect>(ledger, 'SELECT position, session, tool, digest, call FROM unsettled');
  for (const { position, session, tool, digest, call } of effects.iterate()) {
    const [toolName, inputDigest, callId] = [nameOf(tool), nameOf(digest), nameOf(call)];
    if (toolName !== undefined && inputDigest !== undefined && callId !== undefined)
      due.set(markOf.effect(session, toolName, inputDigest, callId), position);
  }
  return due;
}

function read(text: string): ReadEntry | undefined {
  try {
    return decode({ text, bodies: null });
  } catch {
    return undefined; // the chain check reports it
  }
}

function nameOf(value: string): string | undefined {
  try {
    return fromSqlText(value);
  } catch {
    return undefined;
  }
}
