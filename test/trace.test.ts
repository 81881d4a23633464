import { createContext, runInContext } from 'node:vm';
import { expect, test } from 'vitest';
import { reportEntries } from '../scripts/trace/report-entries.ts';
import { summariseTrace } from '../scripts/trace/summarise-trace.ts';

test('every kind of function reports that it was entered', () => {
  const source = `
    export function plain(n) { return n; }
    const arrow = (n) => n + 1;
    class Base { get it() { return 1; } }
    class Derived extends Base { constructor() { super(); } method() { return arrow(1); } }
    export const all = () => [plain(1), arrow(2), new Derived().method(), new Derived().it];
  `;
  const entered: string[] = [];
  const world = createContext({ quittanceEntered: (path: string) => entered.push(path) });
  const script = `${reportEntries('src/a.ts', source).replaceAll('export ', '')}; all().join()`;
  expect(runInContext(script, world)).toBe('1,3,2,1');
  // all, plain, arrow, two constructors, method with arrow, getter
  expect(entered).toHaveLength(8);
});

test('entries and returns are counted by folder and by room, without values', () => {
  const paths = [
    'src/runtime/turn/turn.ts',
    'src/base/json.ts',
    'src/runtime/gates/walk.ts',
    'src/call/decide.ts',
    'src/runtime/gates/gates.ts',
    'src/ledger/chain.ts',
  ];
  expect(summariseTrace(paths)).toEqual({
    functions: 6,
    files: 6,
    folderEntries: 4,
    roomEntries: 5,
    roomReturns: 1,
    rooms: ['runtime/turn', 'runtime/gates', 'call', 'runtime/gates', 'ledger'],
  });
});
