/**
 * Measures what names alone say about tools without declarations, in two tables. "Before" is the source document's table
 * applied to the name as written.
 *
 * 1. Tools of public MCP servers, coding agents and benchmarks (test/tool-names.txt): how often they need approval. Each
 *    is called twice: a call that succeeds, then a call that loses its connection and is repeated.
 * 2. Operations of public API clients whose HTTP method is known (test/operation-names.txt), held-out third only. Counts
 *    what the names hide: removals that would run unasked, lookups that are not `read` or are held, changes that are
 *    `read`.
 *
 * `npm run tool-names -- --misses` lists the mistakes in the other two thirds. Choose words by those only.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import {
  createRuntime,
  decideToolMode,
  defaultTreatments,
  defineTool,
  ToolError,
  toolModePatterns,
  type ToolMode,
} from 'quittance';
import { printTable } from './table.ts';

const { values: options } = parseArgs({ options: { misses: { type: 'boolean', default: false } } });

type Named = { readonly name: string; readonly expected: string };
type Held = { first: number; repeated: number; agreed: number };

const named: readonly Named[] = readFileSync(new URL('../test/tool-names.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [expected = '', name = ''] = line.split(' ');
    return { name, expected };
  });

const byTable = (name: string): ToolMode =>
  toolModePatterns.find(({ pattern }) => pattern.test(name))?.mode ?? 'external';

async function count(modeOf: (name: string) => ToolMode | undefined): Promise<Held> {
  const held: Held = { first: 0, repeated: 0, agreed: 0 };
  for (const { name, expected } of named) {
    let asked = 0;
    let fails = false;
    const mode = modeOf(name);
    const tool = defineTool({
      name,
      ...(mode !== undefined && { mode }),
      run: () =>
        fails ? Promise.reject(new ToolError('tool.network_error', 'The connection was lost.')) : 'done',
    });
    if (tool.mode === expected) held.agreed++;
    const runtime = createRuntime({
      tools: [tool],
      onConfirm: () => {
        asked++;
        return { decision: 'approve', by: 'ada' };
      },
    });
    const turn = runtime.turn({ sessionId: 's' });
    const call = (id: string, n: number) => turn.call({ id, name, arguments: { n } });
    await call('a', 1);
    held.first += Math.min(asked, 1);
    fails = true;
    await call('b', 2);
    asked = 0;
    fails = false;
    await call('c', 2);
    held.repeated += Math.min(asked, 1);
    await runtime.close();
  }
  return held;
}

const share = (n: number): string => `${((n / named.length) * 100).toFixed(1)} %`;
const before = await count(byTable);
const after = await count(() => undefined);
printTable(
  [`${named.length} tool names`, 'before', 'after'],
  [
    ['mode as expected', share(before.agreed), share(after.agreed)],
    ['first call held', share(before.first), share(after.first)],
    ['repeat after a lost connection held', share(before.repeated), share(after.repeated)],
  ],
);

type Operation = { readonly method: string; readonly name: string };
const [used = [], heldOut = []] = readFileSync(
  new URL('../test/operation-names.txt', import.meta.url),
  'utf8',
)
  .split(/^# held out$/m)
  .map((part) =>
    part
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line): Operation => {
        const [method = '', name = ''] = line.split(' ');
        return { method, name };
      }),
  );

type Mistake = {
  readonly title: string;
  readonly key: string;
  readonly methods: readonly string[];
  readonly isWrong: (mode: ToolMode) => boolean;
};
const mistakes: readonly Mistake[] = [
  {
    title: 'DELETE that would run unasked',
    key: 'removalsUnasked',
    methods: ['DELETE'],
    isWrong: (mode) => defaultTreatments[mode] === 'run',
  },
  {
    title: 'GET that is not read',
    key: 'lookupsNotRead',
    methods: ['GET'],
    isWrong: (mode) => mode !== 'read',
  },
  {
    title: 'GET that would be held',
    key: 'lookupsHeld',
    methods: ['GET'],
    isWrong: (mode) => defaultTreatments[mode] !== 'run',
  },
  {
    title: 'DELETE, PUT or PATCH that is read',
    key: 'changesRead',
    methods: ['DELETE', 'PUT', 'PATCH'],
    isWrong: (mode) => mode === 'read',
  },
];

const wrongOf = (
  operations: readonly Operation[],
  { methods, isWrong }: Mistake,
  modeOf: (name: string) => ToolMode,
): readonly string[] =>
  operations
    .filter(({ method, name }) => methods.includes(method) && isWrong(modeOf(name)))
    .map(({ name }) => name);

const figures = mistakes.map((mistake) => ({
  ...mistake,
  of: heldOut.filter(({ method }) => mistake.methods.includes(method)).length,
  before: wrongOf(heldOut, mistake, byTable).length,
  after: wrongOf(heldOut, mistake, decideToolMode).length,
}));
process.stdout.write('\n');
printTable(
  [`${heldOut.length} held-out operations`, 'names', 'before', 'after'],
  figures.map(({ title, of, before, after }) => [title, String(of), String(before), String(after)]),
);
if (options.misses)
  for (const mistake of mistakes)
    process.stdout.write(
      `\n${mistake.title}, not held out: ${wrongOf(used, mistake, decideToolMode).join(' ')}\n`,
    );
process.stdout.write(
  `${JSON.stringify({
    bench: 'tool-names',
    names: named.length,
    before,
    after,
    heldOut: Object.fromEntries(figures.map(({ key, of, before, after }) => [key, { of, before, after }])),
  })}\n`,
);
