/** The tool behind `npm run mutate`: what it changes, how it names a change, and which processes its probes reach. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { draw } from '../bench/mutate/draw.ts';
import { readKnown } from '../bench/mutate/known.ts';
import { applyMutation, makeMutations } from '../bench/mutate/mutations.ts';
import { addProbes, blockAt } from '../bench/mutate/probes.ts';
import { findTargets } from '../bench/mutate/targets.ts';
import { root } from './sources.ts';

const source = `
export function spend(left: number, cost: number, log: string[]): boolean {
  if (cost > left) return false;
  log.push('spent');
  return true;
}
`;
const changes = (text: string): string[] =>
  makeMutations('a.ts', text).map(({ key }) => key.replace('a.ts#', ''));

describe('mutations', () => {
  it('change conditions, operators, literals and statements, and nothing in types or texts', () => {
    expect(changes(source)).toEqual([
      'spend condition: cost > left → !(cost > left)',
      'spend condition: cost > left → (cost > left) && false',
      'spend statement: if (cost > left) return false; → ;',
      'spend operator: > → >=',
      'spend operator: > → <=',
      'spend boolean: false → true',
      "spend statement: log.push('spent'); → ;",
      'spend boolean: true → false',
    ]);
    expect(changes('export type Flag = { on: true; most: 5 };')).toEqual([]);
  });

  it('keep their names when other lines of the file change', () => {
    const edited = `/** New. */\nconst other = (n: number): number => n;\n${source}`;
    expect(changes(edited)).toEqual(changes(source));
  });

  it('are told apart where one declaration allows the same change twice', () => {
    expect(changes('const both = (a: number): boolean => a > 1 && a > 2;')).toEqual(
      expect.arrayContaining(['both operator: > → >=', 'both operator: > → >= @2']),
    );
  });

  it('change exactly the place they name', () => {
    const [first] = makeMutations('a.ts', source);
    expect(first && applyMutation(source, first)).toBe(source.replace('cost > left', '!(cost > left)'));
  });

  it('are drawn the same for the same seed, without those that do not compile', () => {
    const all = makeMutations('a.ts', source);
    const keysOf = (seed: number, text = source): string[] =>
      draw(all, {
        seed,
        count: 3,
        check: (_, changed) => !changed.includes('!('),
        read: () => text,
      }).mutations.map(({ key }) => key);
    expect(keysOf(1)).toEqual(keysOf(1));
    expect(keysOf(1)).toHaveLength(3);
    expect(new Set([1, 2, 3, 4].map((seed) => keysOf(seed).join())).size).toBeGreaterThan(1);
    expect([1, 2, 3, 4].flatMap((seed) => keysOf(seed)).filter((key) => key.includes('!('))).toEqual([]);
  });
});

describe('probes', () => {
  it('reach a child process, and tell of it although the process is killed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-probes-'));
    try {
      const log = join(folder, 'log');
      const program = `${source}
if (spend(2, 1, [])) process.kill(process.pid, 'SIGKILL');
else console.log('not reached');
`;
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
      writeFileSync(join(folder, 'a.ts'), addProbes('a.ts', program, log));
      const { signal } = spawnSync(process.execPath, [
        '--disable-warning=ExperimentalWarning',
        join(folder, 'a.ts'),
      ]);
      expect(signal).toBe('SIGKILL');
      const reached = readFileSync(log, 'utf8').trim().split('\n');
      const at = (text: string): string => `a.ts\t${blockAt('a.ts', program, program.indexOf(text))}`;
      expect(reached).toEqual(expect.arrayContaining([at("log.push('spent')"), at('process.kill')]));
      expect(reached).not.toContain(at('return false'));
      expect(reached).not.toContain(at("console.log('not reached')"));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

it('every mutated file exists, and every known survivor has a reason', () => {
  expect(findTargets(root).length).toBeGreaterThan(50);
  for (const { key, reason } of readKnown()) {
    expect(existsSync(join(root, key.split('#')[0] ?? ''))).toBe(true);
    expect(reason.length).toBeGreaterThan(20);
  }
});
