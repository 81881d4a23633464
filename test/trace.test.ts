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
    if (call !== ')')
      return open[
        open.push({ type: 'entered', frame, path: `packages/quittance/src/${call}.ts` }) - 1
      ] as Step;
    const last = open.pop() as Step;
    return { ...last, type: 'left' };
  });
}

test('counts an entry for each change of the folder, without those that hold values', () => {
  const steps = stepsOf(
    'runtime/recall',
    'base/json',
    ')',
    'runtime/gates',
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
    steps: ['recall', 'gates'],
    returns: 0,
  });
});

test('counts a return for a step that is left and entered again, and none for a step that waits for another', () => {
  const inside = stepsOf('runtime/gates', 'runtime/settle', 'runtime/gates', ')', ')', ')');
  expect(summarizeTrace(inside)).toMatchObject({ steps: ['gates', 'settle'], returns: 0 });
  const again = stepsOf('runtime/gates', ')', 'runtime/settle', 'runtime/gates', ')', ')');
  expect(summarizeTrace(again)).toMatchObject({ steps: ['gates', 'settle', 'gates'], returns: 1 });
});

test('does not take other files of the runtime for steps', () => {
  const steps = stepsOf('runtime/gates', 'runtime/engine', ')', 'store/sqlite/settle', ')', ')');
  expect(summarizeTrace(steps)).toMatchObject({ steps: ['gates'], returns: 0 });
});
