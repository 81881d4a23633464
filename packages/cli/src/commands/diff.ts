import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { ReadEvent } from 'quittance/internal/ledger/unknown-event';
import { diffSessions } from 'quittance/internal/replay/diff-sessions';
import type { CliCommand, Given } from '../command.ts';
import { reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { meantSession } from '../meant-options.ts';
import { terminalId, safeJson, terminalText } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import type { CallDifference, SessionDifference, SessionDiff } from 'quittance/internal/replay/diff-sessions';
import { weightOfDifference } from 'quittance/internal/replay/difference-weight';
import { differenceField, differenceWord } from 'quittance/internal/view/difference-words';
import type { Terminal } from '../terminal.ts';
import { fit, trim } from '../text-width.ts';
import { withoutUndefined } from '../to-json.ts';

export const diffCommand: CliCommand = {
  name: 'diff',
  summary: 'Compare two sessions, call by call',
  takes: '<session> <session>',
  most: 2,
  about: [
    'Lists the calls that only one session made, and the differences of the calls both made. Compared: arguments, coercions, decisions and their rules, confirmations and their approvers, attempts, outcomes, outputs by path, the text for the model, and the cost. Ids, times and later resolutions are ignored.',
    'Exit codes, as in diff: 0 identical, 1 different.',
  ],
  options: {
    'ledger-b': {
      value: 'URL',
      help: 'Ledger of the second session; default: the same ledger',
      file: true,
    },
    all: { help: 'Also show identical calls' },
    json: { help: 'JSON instead of text: one line per call that differs, then one with the totals' },
  },
  examples: [
    ['quittance diff ticket-42 ticket-42-again', 'a run and its replay'],
    ['quittance diff nightly nightly --ledger monday.db --ledger-b tuesday.db', 'sessions of two ledgers'],
    ["quittance diff a b --json | jq '.differences[]?.field'", 'the differing fields, for a program'],
  ],
  effect: reads,
  run: async (given, context) => {
    const [a, b] = given.args;
    if (a === undefined || b === undefined)
      throw new UsageError('Expected two sessions to compare.', [
        'quittance diff <session> <session>',
        'quittance sessions',
      ]);
    const other = given.has('ledger-b');
    const left = await context.withLedger(given, (ledger) => readSession(ledger, a, context.signal));
    const right = await context.withLedger(other ? inLedgerB(given) : given, (ledger) =>
      readSession(ledger, b, context.signal),
    );
    const diff = diffSessions(left, right, { sameLedger: !other });
    const { out } = context;
    const lines = given.has('json')
      ? diffToJson(diff, given.has('all')).map((line) => safeJson(line))
      : diffLines(diff, [a, b], given.has('all'), out);
    for (const line of lines) await out.print(line);
    return diff.identical ? exitCodes.good : exitCodes.bad;
  },
};

/** The typed arguments, with `--ledger-b` in place of `--ledger`. */
const inLedgerB = (given: Given): Given => ({
  args: given.args,
  has: (option) => given.has(option),
  list: (option) => given.list(option),
  count: (option) => given.count(option),
  text: (option) => given.text(option === 'ledger' ? 'ledger-b' : option),
});

async function readSession(
  ledger: OpenLedger,
  typed: string,
  signal: AbortSignal,
): Promise<readonly ReadEvent[]> {
  const events = await ledger.readSession(await meantSession(ledger, typed, signal));
  if (events.length > 0) return events;
  // Not 1, which means here that the sessions differ.
  throw new UsageError(`There is no session ${JSON.stringify(terminalId(typed))}.`, ['quittance sessions']);
}

/** Two sessions compared, for people and for programs. */

export function* diffLines(
  diff: SessionDiff,
  names: readonly [a: string, b: string],
  showSame: boolean,
  out: Terminal,
): Generator<string, void> {
  const width = Math.min(out.width, 160);
  const half = Math.floor((width - 5) / 2);
  const sideBySide = (a: string, b: string): string =>
    `${fit(a, half)} ${out.paint('dim', '│')} ${trim(b, half)}`;
  yield summaryOf(diff, out);
  yield* importantLines(diff, sideBySide, out);
  if (diff.identical && !showSame) return yield* hiddenNote(diff, out);
  yield '';
  yield out.paint('bold', `  ${sideBySide(terminalId(names[0]), terminalId(names[1]))}`.trimEnd());
  let same = 0;
  const skipped = function* (): Generator<string, void> {
    if (same > 0) yield out.paint('dim', `  ${same} ${same === 1 ? 'call is' : 'calls are'} the same`);
    same = 0;
  };
  for (const call of diff.calls) {
    if (call.status === 'same' && !showSame) {
      same++;
      continue;
    }
    yield* skipped();
    yield* callLines(call, sideBySide, out);
  }
  yield* skipped();
  for (const [title, differences] of [
    ['Final workflow states', diff.workflows],
    ['Circumstances (not counted as differences)', diff.circumstances],
  ] as const) {
    if (differences.length === 0) continue;
    yield '';
    yield out.paint('bold', title);
    for (const each of differences) yield* differenceLines(each, sideBySide, out);
  }
  yield* hiddenNote(diff, out);
}

function* hiddenNote({ comparedByKeptForm }: SessionDiff, out: Terminal): Generator<string, void> {
  if (comparedByKeptForm > 0)
    yield out.paint(
      'dim',
      `${comparedByKeptForm} have redacted arguments and were compared by their stored form.`,
    );
}

/** What a reader looks for first: calls with another end or decision, and calls that only one session made. */
function* importantLines(
  { calls }: SessionDiff,
  sideBySide: SideBySide,
  out: Terminal,
): Generator<string, void> {
  const important = calls.flatMap((call): CallDifference[] => {
    if (call.status !== 'changed') return call.status === 'same' ? [] : [call];
    const differences = call.differences.filter((each) => weightOfDifference(each) === 'end');
    return differences.length === 0 ? [] : [{ ...call, differences }];
  });
  if (important.length === 0) return;
  yield '';
  yield out.paint('bold', 'Other ends, decisions and calls');
  for (const call of important) yield* callLines(call, sideBySide, out);
  yield '';
  yield out.paint('bold', 'All differences');
}

type SideBySide = (a: string, b: string) => string;

const titleOf = ({ callId, toolName }: { readonly callId: string; readonly toolName: string }): string =>
  `${terminalId(callId)}  ${terminalId(toolName)}`;

function* callLines(call: CallDifference, sideBySide: SideBySide, out: Terminal): Generator<string, void> {
  switch (call.status) {
    case 'same':
      yield `  ${sideBySide(titleOf(call.a), titleOf(call.b))}`;
      return;
    case 'changed':
      yield `${out.paint('yellow', '~')} ${sideBySide(titleOf(call.a), titleOf(call.b))}`;
      for (const each of call.differences) yield* differenceLines(each, sideBySide, out);
      return;
    case 'only_a':
      yield `${out.paint('red', '-')} ${sideBySide(`${titleOf(call.a)} ${safeJson(call.a.requestedInput)}`, '')}`.trimEnd();
      return;
    case 'only_b':
      yield `${out.paint('green', '+')} ${sideBySide('', `${titleOf(call.b)} ${safeJson(call.b.requestedInput)}`)}`;
  }
}

function* differenceLines(
  { field, path, a, b }: SessionDifference,
  sideBySide: SideBySide,
  out: Terminal,
): Generator<string, void> {
  yield out.paint('dim', `    ${terminalText(`${differenceField(field)}${path === '$' ? '' : ` ${path}`}`)}`);
  yield `  ${sideBySide(`    ${valueText(field, a)}`, `    ${valueText(field, b)}`)}`.trimEnd();
}

const valueText = (field: string, value: JsonValue | undefined): string =>
  value === undefined ? '(nothing)' : (differenceWord(field, value) ?? safeJson(value));

function summaryOf({ identical, same, changed, onlyA, onlyB }: SessionDiff, out: Terminal): string {
  if (identical) return out.paint(['bold', 'green'], `Identical: ${same} ${same === 1 ? 'call' : 'calls'}.`);
  const parts = [
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(onlyA > 0 ? [`${onlyA} only in the first`] : []),
    ...(onlyB > 0 ? [`${onlyB} only in the second`] : []),
    `${same} the same`,
  ];
  return `${out.paint(['bold', 'yellow'], 'The sessions differ.')} Calls: ${parts.join(', ')}.`;
}

/** One line per call that differs, one per workflow and circumstance, and one with the totals. */
function* diffToJson(diff: SessionDiff, showSame: boolean): Generator<JsonObject, void> {
  for (const call of diff.calls) {
    if (call.status === 'same' && !showSame) continue;
    const [a, b] = ['a' in call ? call.a : undefined, 'b' in call ? call.b : undefined];
    yield withoutUndefined({
      type: 'call',
      status: call.status,
      toolName: (a ?? b)?.toolName,
      callA: a?.callId,
      callB: b?.callId,
      differences: call.status === 'changed' ? call.differences.map(differenceToJson) : undefined,
    });
  }
  for (const each of diff.workflows) yield { type: 'workflow', ...differenceToJson(each) };
  for (const each of diff.circumstances) yield { type: 'circumstance', ...differenceToJson(each) };
  yield {
    type: 'totals',
    identical: diff.identical,
    same: diff.same,
    changed: diff.changed,
    onlyA: diff.onlyA,
    onlyB: diff.onlyB,
    comparedByKeptForm: diff.comparedByKeptForm,
  };
}

const differenceToJson = ({ field, path, a, b }: SessionDifference): JsonObject =>
  withoutUndefined({ field, path, a, b });
