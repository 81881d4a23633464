import { isQuittanceError } from 'quittance/internal/base/error';
import { readStored } from 'quittance/internal/ledger/feed';
import type { Cursor } from 'quittance/internal/ledger/cursors';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { isLeft } from 'quittance/internal/runtime/behavior-reader';
import { readAllSizes } from 'quittance/internal/replay/read-all-entries';
import { describeUnknownName } from 'quittance/internal/base/nearest';
import { proofOptions } from '../proof.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { fromSafeText, safeJson, terminalText } from '../terminal-text.ts';
import { layOutTable } from '../table.ts';
import { UsageError } from '../usage-error.ts';
import type { JsonObject } from 'quittance/internal/base/json';
import type { Column, Row } from '../table.ts';
import { withoutUndefined } from '../to-json.ts';
import {
  lastPosition,
  statusOfOwner,
  listCursors,
  readCursor,
  dropCursor,
} from 'quittance/internal/ledger/reads';

const actions = ['list', 'drop'] as const;

export const behaviorsCommand: CliCommand = {
  name: 'behaviors',
  summary: 'List durable behaviors and their progress; drop a retired one',
  takes: '[list | drop <behavior>]',
  words: actions,
  most: 2,
  about: [
    'A durable behavior stores its position in the ledger and continues from there after a restart. BEHIND is the number of entries it has not read yet. `reading`: a process reads for it. `gone`: the process that read for it ended without releasing it; the next process that has the behavior takes over. `free`: no process reads for it now. `stuck`: its next entry is damaged or was written by a newer version. It skips nothing and continues once it can read that entry.',
    'drop deletes the position of a behavior that no program has any more. It needs a person who confirms it at a terminal, or a token with the role admin. A behavior registered again under that name starts over. While a process reads for the behavior, drop needs --force.',
  ],
  options: {
    by: { value: 'NAME', help: 'drop: name of the person; default: the user of the system' },
    ...proofOptions,
    force: { help: 'Drop it even while a process reads for it' },
    json: jsonOption,
  },
  examples: [
    ['quittance behaviors', 'list behaviors and their progress'],
    ['quittance behaviors drop flag_orders', 'delete the position of a retired behavior'],
  ],
  effect(given, { userName }) {
    const [action = 'list', name] = given.args;
    if (action === 'list') return reads;
    if (action !== 'drop') throw stray(action);
    if (name === undefined)
      throw new UsageError('Missing behavior name.', [
        'quittance behaviors',
        'quittance behaviors drop BEHAVIOR',
      ]);
    // A behavior without its position starts over: what it does happens twice.
    return {
      kind: 'decides',
      role: 'admin',
      byDefault: userName,
      line: 'quittance behaviors drop BEHAVIOR',
      asks: { question: `Delete the position of ${terminalText(name)}?`, word: 'drop' },
    };
  },
  run(given, context) {
    const [action = 'list', name] = given.args;
    switch (action) {
      case 'list':
        if (name !== undefined) throw stray(name);
        return context.withLedger(given, (ledger) => list(ledger, given, context));
      case 'drop':
        return context.withLedger(given, (ledger) => drop(ledger, name ?? '', given, context), 'write');
      default:
        throw stray(action);
    }
  },
};

const stray = (word: string): UsageError =>
  new UsageError(`Expected "list" or "drop"; found ${JSON.stringify(word)}.`, [
    'quittance behaviors',
    'quittance behaviors drop BEHAVIOR',
  ]);

async function list(ledger: OpenLedger, given: Given, { out, err, signal }: Context): Promise<ExitCode> {
  // Read the end first, so that entries appended meanwhile do not count as behind.
  const end = await lastPosition(ledger);
  const found: ListedBehavior[] = [];
  for (const cursor of await listCursors(ledger)) {
    const behind = await countBetween(ledger, cursor.position, end, signal);
    const problem = behind === 0 ? undefined : await problemAfter(ledger, cursor.position);
    const status = problem === undefined ? await statusOf(ledger, cursor) : 'stuck';
    found.push({ ...cursor, behind, status, problem });
  }
  if (given.has('json')) for (const behavior of found) await out.print(safeJson(behaviorToJson(behavior)));
  else if (found.length > 0) {
    const rows = found.map(behaviorRow);
    const table = layOutTable(behaviorColumns, rows, out.width, out.paint);
    await out.print(table.heading());
    for (const row of rows) await out.print(table.line(row));
    for (const { name, problem } of found)
      if (problem !== undefined) await err.print(`${terminalText(name)} is stuck: ${terminalText(problem)}`);
  } else await err.print('No durable behavior has ever read this ledger.');
  return exitCodes.good;
}

/** Positions have gaps, above all in a database, so the entries are counted. */
async function countBetween(
  ledger: OpenLedger,
  after: number,
  end: number,
  signal: AbortSignal,
): Promise<number> {
  let count = 0;
  for await (const { position } of readAllSizes(ledger, signal, { after }))
    if (position > end || ++count === mostBehind) break;
  return count;
}

/** Why a behavior at this position cannot read the next entry. */
async function problemAfter(ledger: OpenLedger, position: number): Promise<string | undefined> {
  const [next] = await ledger.readEntries({ after: position, limit: 1 });
  try {
    if (next !== undefined) readStored(next);
    return undefined;
  } catch (error) {
    if (!isQuittanceError(error)) throw error;
    return error.message;
  }
}

async function statusOf(
  ledger: OpenLedger,
  { holder, ownerId }: Cursor,
): Promise<Exclude<ListedBehavior['status'], 'stuck'>> {
  if (holder === undefined || isLeft(holder)) return 'free';
  return ownerId !== undefined && (await statusOfOwner(ledger, ownerId)) !== 'gone' ? 'reading' : 'gone';
}

async function drop(ledger: OpenLedger, typed: string, given: Given, { out }: Context): Promise<ExitCode> {
  const found = (await readCursor(ledger, typed)) ?? (await readCursor(ledger, fromSafeText(typed)));
  if (found === undefined) {
    const known = (await listCursors(ledger)).map(({ name }) => terminalText(name));
    throw new UsageError(
      describeUnknownName('behavior', typed, known),
      ['quittance behaviors'],
      exitCodes.bad,
    );
  }
  const { name, position } = found;
  if (!given.has('force') && (await statusOf(ledger, found)) === 'reading')
    throw new UsageError(
      `A process reads for ${JSON.stringify(name)} now and would start over. Remove the behavior from that process first.`,
      ['quittance behaviors', `quittance behaviors drop ${shellWord(name)} --force`],
      exitCodes.bad,
    );
  await dropCursor(ledger, name);
  if (given.has('json')) await out.print(safeJson({ name, position, dropped: true }));
  else await out.say(`Dropped ${terminalText(name)}, which had read up to position ${position}.`);
  return exitCodes.good;
}

/** Durable behaviors, as rows of a table and as JSON. */

/** A behavior and the state of its reader. */
type ListedBehavior = Cursor & {
  /** Number of entries it has not read yet; at most `mostBehind`. */
  readonly behind: number;
  /**
   * `reading`: a process reads for it. `gone`: its process ended without releasing it. `free`: no process reads for
   * it. `stuck`: its next entry cannot be read.
   */
  readonly status: 'reading' | 'gone' | 'free' | 'stuck';
  /** The unreadable entry and the cause. */
  readonly problem: string | undefined;
};

/** Counting stops here: a behavior that far behind has a problem, whatever the number. */
const mostBehind = 10_000;

const behaviorColumns: readonly Column[] = [
  { title: 'BEHAVIOR', min: 12 },
  { title: 'POSITION', align: 'right' },
  { title: 'BEHIND', align: 'right' },
  { title: 'STATUS' },
  { title: 'HOLDER', min: 12 },
];

const styles = { reading: 'green', gone: 'yellow', free: 'dim', stuck: 'red' } as const;

const behaviorRow = ({ name, position, behind, status, holder }: ListedBehavior): Row => [
  terminalText(name),
  String(position),
  behind === 0 ? '·' : behind === mostBehind ? `${mostBehind}+` : String(behind),
  { text: status, style: styles[status] },
  terminalText(holder ?? '·'),
];

const behaviorToJson = ({
  name,
  position,
  behind,
  status,
  holder,
  ownerId,
  problem,
}: ListedBehavior): JsonObject =>
  withoutUndefined({ name, position, behind, status, problem, holder, ownerId });
