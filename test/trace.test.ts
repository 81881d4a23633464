import { createContext, runInContext } from 'node:vm';
import { expect, test } from 'vitest';
import { reportEntries } from '../scripts/trace/report-entries.ts';
import type { Step } from '../scripts/trace/summarize-trace.ts';
import { summarizeTrace } from '../scripts/trace/summarize-trace.ts';

test('every kind of function reports that it was entered and left', () => {
  const source = `
    export function plain(n) { return n; }
    const arrow = (n) => n + 1;
    class Base { get it() { return 1; } }
    class Derived extends Base { constructor() { super(); } method() { return arrow(1); } }
    export const all = () => [plain(1), arrow(2), new Derived().method(), new Derived().it];
  `;
  const entered: string[] = [];
  let left = 0;
  const world = createContext({
    quittanceEntered(path: string) {
      entered.push(path);
      return () => left++;
    },
  });
  const script = `${reportEntries('src/a.ts', source).replaceAll('export ', '')}; all().join()`;
  expect(runInContext(script, world)).toBe('1,3,2,1');
  // all, plain, arrow, two constructors, method with arrow, getter
  expect(entered).toHaveLength(8);
  expect(left).toBe(8);
});

/** Calls nested as the text is: a name enters its file, a parenthesis leaves it. */
function stepsOf(...calls: readonly string[]): readonly Step[] {
  const open: Step[] = [];
  return calls.map((call, frame) => {
    if (call !== ')') return open[open.push({ type: 'entered', frame, path: `src/${call}.ts` }) - 1] as Step;
    const last = open.pop() as Step;
    return { ...last, type: 'left' };
  });
}

test('an entry is a change of the folder or the room, not counting values', () => {
  const steps = stepsOf(
    'runtime/turn/a',
    'base/json',
    ')',
    'runtime/gates/b',
    'call/c',
    ')',
    ')',
    'ledger/d',
    ')',
    ')',
  );
  expect(summarizeTrace(steps)).toEqual({
    functions: 5,
    files: 5,
    folderEntries: 3,
    roomEntries: 4,
    stages: ['runtime/turn', 'runtime/gates'],
    stageReturns: 0,
  });
});

test('a stage that is left and entered again is a return; one that waits for another is not left', () => {
  const inside = stepsOf('runtime/turn/a', 'runtime/gates/b', 'runtime/turn/c', ')', ')', ')');
  expect(summarizeTrace(inside)).toMatchObject({
    stages: ['runtime/turn', 'runtime/gates'],
    stageReturns: 0,
  });
  const again = stepsOf(
    'runtime/turn/a',
    'runtime/gates/b',
    ')',
    'runtime/settle/c',
    'runtime/gates/d',
    ')',
    ')',
    ')',
  );
  expect(summarizeTrace(again)).toMatchObject({
    stages: ['runtime/turn', 'runtime/gates', 'runtime/settle', 'runtime/gates'],
    stageReturns: 1,
  });
});

test('rooms that all stages share do not count as stages', () => {
  const steps = stepsOf('runtime/turn/a', 'runtime/state/b', ')', 'runtime/state/c', ')', ')');
  expect(summarizeTrace(steps)).toMatchObject({ roomEntries: 2, stages: ['runtime/turn'], stageReturns: 0 });
});
