/** Two sessions compared, for people and for programs. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { CallDifference, SessionDifference, SessionDiff } from '../replay/diff-sessions.ts';
import { weightOfDifference } from '../replay/difference-weight.ts';
import { differenceField, differenceWord } from '../view/difference-words.ts';
import { terminalId, safeJson, terminalText } from './terminal-text.ts';
import type { Terminal } from './terminal.ts';
import { fit, trim } from './text-width.ts';
import { withoutUndefined } from './to-json.ts';

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
export function* diffToJson(diff: SessionDiff, showSame: boolean): Generator<JsonObject, void> {
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
