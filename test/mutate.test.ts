/**
 * The tool behind `npm run mutate`: what it changes, how it names a change, and which processes its probes
 * reach.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { draw } from '../bench/mutate/draw.ts';
import { createJudge } from '../bench/mutate/judge.ts';
import { readKnown } from '../bench/mutate/known.ts';
import type { Mutation } from '../bench/mutate/mutations.ts';
import { applyMutation, makeMutations } from '../bench/mutate/mutations.ts';
import { addProbes, blockAt } from '../bench/mutate/probes.ts';
import { nearTests } from '../bench/mutate/order-tests.ts';
import type { Stopped, TestRun } from '../bench/mutate/run-tests.ts';
import { findTargets } from '../bench/mutate/targets.ts';
import { openVerdicts } from '../bench/mutate/verdict.ts';
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

  it('have different names if one declaration allows the same change twice', () => {
    expect(changes('const both = (a: number): boolean => a > 1 && a > 2;')).toEqual(
      expect.arrayContaining(['both operator: > → >=', 'both operator: > → >= @2']),
    );
  });

  it('change exactly the named position', () => {
    const [first] = makeMutations('a.ts', source);
    expect(first && applyMutation(source, first)).toBe(source.replace('cost > left', '!(cost > left)'));
  });

  it('are the same for the same seed, without those that do not compile', () => {
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
  it('reach a child process, and report it even if the process is killed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-probes-'));
    try {
      const log = join(folder, 'log');
      const program = `${source}
if (spend(2, 1, [])) process.kill(process.pid, 'SIGKILL');
else console.log('not reached');
`;
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
      writeFileSync(join(folder, 'a.ts'), addProbes('a.ts', program, log));
      const { signal } = spawnSync(process.execPath, [join(folder, 'a.ts')]);
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

describe('a verdict', () => {
  type Answer = 'passes' | 'fails' | 'times out' | 'hangs' | 'dies';
  /** Judges one mutation with tests `a` and `b`; each answers in turn, with and without the mutation. */
  const judge = async (
    answers: Readonly<Record<string, readonly Answer[]>>,
    tests = ['a', 'b'],
  ): Promise<{ readonly verdict: unknown; readonly ran: readonly string[] }> => {
    const [mutation] = makeMutations('a.ts', source);
    let text = source;
    const ran: string[] = [];
    const left = new Map(Object.entries(answers).map(([run, each]) => [run, [...each]]));
    const answer = (test: string): Answer => {
      const run = text === source ? `${test} unchanged` : `${test} mutated`;
      ran.push(run);
      return left.get(run)?.shift() ?? 'passes';
    };
    const verdict = await createJudge({
      run: (_, plan) => {
        for (const test of plan.tests) {
          const given = answer(test);
          if (given !== 'passes') return Promise.resolve(resultOf(test, given));
        }
        return Promise.resolve({ passed: true, files: [], unhandled: undefined });
      },
    })(
      {
        root: '',
        read: () => text,
        write: (_, changed) => void (text = changed),
        remove: () => undefined,
      },
      mutation as Mutation,
      tests,
    );
    expect(text).toBe(source);
    return { verdict, ran };
  };
  const resultOf = (test: string, answer: Exclude<Answer, 'passes'>): TestRun | Stopped => {
    if (answer === 'hangs') return { stopped: 'silent', test, said: '' };
    if (answer === 'dies') return { stopped: 'died', test, said: '' };
    const message = answer === 'fails' ? 'expected 1 to be 2' : 'Test timed out in 30000ms.';
    const failure = { title: 'spends', message, ms: answer === 'fails' ? 5 : 30_000 };
    return { passed: false, files: [{ test, ms: 5, failure }], unhandled: undefined };
  };

  it('is a kill if a test fails with the mutation and passes without it', async () => {
    expect(await judge({ 'a mutated': ['fails'] })).toEqual({
      verdict: { type: 'killed', test: 'a', title: 'spends', by: 'assertion' },
      ran: ['a mutated', 'a unchanged'],
    });
  });

  it('is not a kill if every test passes', async () => {
    expect(await judge({})).toEqual({ verdict: { type: 'passed' }, ran: ['a mutated', 'b mutated'] });
  });

  it('is left to the other tests if a test also fails without the mutation', async () => {
    const red = { 'a mutated': ['fails'], 'a unchanged': ['fails'] } as const;
    expect((await judge(red)).verdict).toEqual({ type: 'doubtful', test: 'a' });
    expect(await judge({ ...red, 'b mutated': ['fails'] })).toEqual({
      verdict: { type: 'killed', test: 'b', title: 'spends', by: 'assertion' },
      ran: ['a mutated', 'a unchanged', 'b mutated', 'b unchanged'],
    });
  });

  it.each([
    ['times out', 'spends', 'timeout'],
    ['hangs', '(did not end)', 'timeout'],
    ['dies', '(the process died)', 'crash'],
  ] as const)(
    'a verdict of a test that %s counts only if it does so again, and not without the mutation',
    async (answer, title, by) => {
      expect(await judge({ 'a mutated': [answer, answer] })).toEqual({
        verdict: { type: 'killed', test: 'a', title, by },
        ran: ['a mutated', 'a unchanged', 'a mutated'],
      });
      // Slow by chance, once with the mutation or also without it: the next test decides.
      const once = await judge({ 'a mutated': [answer] });
      expect(once.verdict).toEqual({ type: 'doubtful', test: 'a' });
      expect(once.ran).toEqual(['a mutated', 'a unchanged', 'a mutated', 'b mutated']);
      const both = await judge({ 'a mutated': [answer], 'a unchanged': [answer], 'b mutated': ['fails'] });
      expect(both.verdict).toMatchObject({ type: 'killed', test: 'b' });
    },
  );

  it('is stored with its inputs, sorted, and read by the next run', () => {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-verdicts-'));
    try {
      const files = [join(folder, 'kills.json'), join(folder, 'survivals.json')] as const;
      const kill = { test: 'a.test.ts', title: 'spends', by: 'assertion', source: 's', hash: 'h' } as const;
      const verdicts = openVerdicts(...files);
      for (const key of ['b', 'c', 'a']) verdicts.keepKill(key, kill);
      verdicts.forgetKill('c');
      verdicts.keepSurvival('d', { source: 's', tests: 't', verdict: { type: 'unreached' } });
      const next = openVerdicts(...files);
      expect(next.kills()).toEqual([
        ['a', kill],
        ['b', kill],
      ]);
      expect(next.survival('d', { source: 's', tests: 't' })).toEqual({ type: 'unreached' });
      expect(next.survival('d', { source: 'other', tests: 't' })).toBeUndefined();
      expect(next.survival('d', { source: 's', tests: 'other' })).toBeUndefined();
      writeFileSync(files[0], '{ "a": ');
      expect(() => openVerdicts(...files)).toThrow(/JSON/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is sought first in the test next to the file, then in tests that killed before', () => {
    const tests = ['src/a/spend.test.ts', 'src/b/other.test.ts', 'test/spending.test.ts', 'test/far.test.ts'];
    expect(nearTests('src/a/spend.ts', tests, new Map([['src/b/other.test.ts', 1]]))).toEqual([
      'src/a/spend.test.ts',
      'src/b/other.test.ts',
      'test/spending.test.ts',
    ]);
  });
});

it('every mutated file exists, and every known survivor has a reason', () => {
  expect(findTargets(root).length).toBeGreaterThan(50);
  for (const { key, reason } of readKnown()) {
    expect(existsSync(join(root, key.split('#')[0] ?? ''))).toBe(true);
    expect(reason.length).toBeGreaterThan(20);
  }
});
