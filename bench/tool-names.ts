/**
 * Measures how often tools without declarations need approval, by their names alone: tools of public MCP servers,
 * coding agents and benchmarks (test/tool-names.txt). Each is called twice: a call that succeeds, then a call that
 * loses its connection and is repeated. "Before" is the source document's table applied to the name as written.
 */
import { readFileSync } from 'node:fs';
import { createRuntime, defineTool, ToolError, toolModePatterns, type ToolMode } from 'quittance';
import { printTable } from './table.ts';

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
process.stdout.write(`${JSON.stringify({ bench: 'tool-names', names: named.length, before, after })}\n`);
