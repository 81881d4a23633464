/**
 * Runs tests against a mutation until one fails, and makes sure that the mutation is why. Every test file that kills
 * must pass without a mutation. A timeout or a crash can be chance on a busy machine. Then the same test must also
 * pass without the mutation, and fail with it again.
 */
import type { Mutation } from './mutations.ts';
import { applyMutation } from './mutations.ts';
import type { Stopped, TestRun } from './run-tests.ts';
import { runTests } from './run-tests.ts';
import type { Scratch } from './scratch.ts';
import type { Kill } from './verdict.ts';

export type Judgement =
  | Kill
  | { readonly type: 'passed' }
  | { readonly type: 'doubtful'; readonly test: string };

export type Judge = (copy: Scratch, mutation: Mutation, tests: readonly string[]) => Promise<Judgement>;

type Failure = Omit<Kill, 'type' | 'test'> & {
  /** Undefined if the run does not say. */
  readonly test: string | undefined;
};

/** Far above the duration of a single test, and above the 30 seconds after which vitest ends a waiting test. */
const silentMs = 90_000;

/** A slower test that fails has probably waited for something that did not happen. */
const slowMs = 5_000;

export function createJudge({
  run = runTests,
  running,
}: {
  readonly run?: typeof runTests;
  readonly running?: Set<number>;
}): Judge {
  /** Test files that pass without a mutation, or fail without one. */
  const green = new Set<string>();
  const red = new Set<string>();

  const failureOf = async (
    copy: Scratch,
    tests: readonly string[],
    mostMs = silentMs,
  ): Promise<Failure | undefined> =>
    readFailure(await run(copy.root, { tests, silentMs: mostMs, ...(running && { running }) }));

  const failureWith = async (
    copy: Scratch,
    mutation: Mutation,
    tests: readonly string[],
    mostMs?: number,
  ): Promise<Failure | undefined> => {
    const text = copy.read(mutation.path);
    copy.write(mutation.path, applyMutation(text, mutation));
    try {
      return await failureOf(copy, tests, mostMs);
    } finally {
      copy.write(mutation.path, text);
    }
  };

  const isReal = async (
    copy: Scratch,
    mutation: Mutation,
    { test, by }: Failure,
    tests: readonly string[],
  ): Promise<boolean> => {
    if (by === 'assertion' && test !== undefined && green.has(test)) return true;
    const failing = test === undefined ? tests : [test];
    const startedAtMs = performance.now();
    if ((await failureOf(copy, failing)) !== undefined) {
      if (by === 'assertion') for (const one of failing) red.add(one);
      return false;
    }
    for (const one of failing) green.add(one);
    if (by === 'assertion') return true;
    // Many times the duration of the same tests without the mutation.
    const longMs = 20_000 + 5 * (performance.now() - startedAtMs);
    return (await failureWith(copy, mutation, failing, Math.min(silentMs, longMs))) !== undefined;
  };

  return async (copy, mutation, tests) => {
    let left = tests.filter((test) => !red.has(test));
    let doubtful: string | undefined;
    while (left.length > 0) {
      const failure = await failureWith(copy, mutation, left);
      if (failure === undefined) break;
      const { test, title, by } = failure;
      if (await isReal(copy, mutation, failure, left))
        return {
          type: 'killed',
          test: test ?? (left.length === 1 ? (left[0] ?? '') : '(the run)'),
          title,
          by,
        };
      doubtful = test ?? '(the run)';
      // The tests before it have passed.
      left = test === undefined ? [] : left.slice(left.indexOf(test) + 1);
    }
    return doubtful === undefined ? { type: 'passed' } : { type: 'doubtful', test: doubtful };
  };
}

function readFailure(ran: TestRun | Stopped): Failure | undefined {
  if ('stopped' in ran)
    return ran.stopped === 'silent'
      ? { test: ran.test, title: '(did not end)', by: 'timeout' }
      : { test: ran.test, title: '(the process died)', by: 'crash' };
  if (ran.passed) return undefined;
  const failed = ran.files.find(({ failure }) => failure !== undefined);
  if (failed?.failure === undefined)
    return { test: ran.unhandled?.test, title: '(an error outside of all tests)', by: 'crash' };
  const { title, message, ms } = failed.failure;
  const waited = ms >= slowMs || /timed? ?out|in time/i.test(message);
  return { test: failed.test, title, by: waited ? 'timeout' : 'assertion' };
}
