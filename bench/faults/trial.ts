/** One fault: a process in which it happens, a successor without faults, and the checks afterwards. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ToolOutcome } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import type { Plan } from './plan.ts';
import type { CallId, Places, Told as Line } from './scenario.ts';
import { callIds, hasEffect, playScenario } from './scenario.ts';

/** `nth`: the number of the counted call that fails; 0 only counts. */
export type TrialOptions = {
  readonly folder: string;
  readonly library: string;
  readonly plan: Pick<Plan, 'ops' | 'errno' | 'mode' | 'dies' | 'isDead'>;
  readonly nth: number;
  readonly compileCache: string;
};

export type Trial = {
  /** The failed call, as "operation file"; undefined if the scenario ended before. */
  readonly hit: string | undefined;
  /** Violations; empty if there are none. */
  readonly problems: readonly string[];
  /** Unresolved calls whose record says more, or less, than the answer: the exceptions of docs/ledger.md. */
  readonly exceptions: number;
  /** Calls answered before the restart, except with `ledger.unavailable`. */
  readonly told: number;
  /** The ends of the calls, after the restart. */
  readonly succeeded: number;
  readonly indeterminate: number;
  readonly notRun: number;
};

/** `isAfter`: was it told after the fault? Only of the first process. */
type Told = Line & { readonly isAfter?: boolean };

/** A process that takes longer hangs, even on a busy machine. */
const longestMs = 300_000;

export async function tryFault(options: TrialOptions): Promise<Trial> {
  const { folder, plan, nth } = options;
  mkdirSync(join(folder, 'failing'), { recursive: true });
  const places = {
    ledger: join(folder, 'failing', 'ledger.db'),
    effects: join(folder, 'effects'),
    // After a single fault everything works; if all later calls fail, waiting for people and workers is useless.
    patienceMs: (plan.mode === 'sticky' || plan.ops === 'cut') && nth > 0 ? 6_000 : 60_000,
  };
  const ended = await runChild(options, places);
  const before = readTold(join(folder, 'told'));
  const problems: string[] = [];
  const isDead = plan.dies && ended === 'SIGKILL';
  if (ended !== 'exit 0' && !isDead) problems.push(`the process ended with ${ended}`);
  else if (!isDead && before.at(-1)?.type !== 'over') problems.push('the process ended before it was done');
  for (const told of before)
    if (told.type === 'error' && told.bare) problems.push(`${told.step}: a bare error: ${told.message}`);
  if (plan.ops === 'cut' && nth > 0) return judgeCut(folder, before, problems);
  const effectsBefore = countEffects(places.effects);

  const after: Told[] = [];
  const restarted = playScenario({ ...places, patienceMs: 60_000 }, (told) => void after.push(told));
  const inTime = await Promise.race([
    restarted.then(() => true),
    new Promise<boolean>((resolve) => setTimeout(resolve, longestMs, false).unref()),
  ]);
  if (!inTime) problems.push('the process after the restart does not end');
  for (const told of after)
    if (told.type === 'error') problems.push(`after the restart, ${told.step}: ${told.message}`);

  const first = outcomesOf(before);
  const last = outcomesOf(after);
  const effects = countEffects(places.effects);
  let exceptions = 0;
  for (const callId of callIds) {
    const [was, is] = [first.get(callId), last.get(callId)];
    const ran = effects.get(callId) ?? 0;
    if (is === undefined) {
      if (was !== undefined || callId !== 'mail') problems.push(`${callId} has no outcome after the restart`);
      continue;
    }
    if (isUnavailable(is)) problems.push(`${callId} is unavailable after the restart: ${JSON.stringify(is)}`);
    if (was !== undefined && !isUnavailable(was) && JSON.stringify(was) !== JSON.stringify(is)) {
      if (plan.isDead && codeOf(was) === 'tool.indeterminate') exceptions++;
      else
        problems.push(
          `${callId} was answered ${JSON.stringify(was)}, but after the restart ${JSON.stringify(is)}`,
        );
    }
    // The answer said that nothing ran. So there must be no effect, and the restart must not call it indeterminate.
    if (was !== undefined && 'error' in was && was.error.includes('nothing ran')) {
      if (hasEffect(callId) && (effectsBefore.get(callId) ?? 0) > 0)
        problems.push(`${callId} had its effect but was answered ${JSON.stringify(was)}`);
      if (codeOf(is) === 'tool.indeterminate' && ran === 0 && plan.isDead) exceptions++;
      else if (codeOf(is) === 'tool.indeterminate' && ran === 0)
        problems.push(`${callId} did not run, as answered, but is unresolved after the restart`);
    }
    if (hasEffect(callId) && ran > 1) problems.push(`${callId} had its effect ${ran} times`);
    if (hasEffect(callId) && isSuccess(is) && ran !== 1)
      problems.push(`${callId} succeeded with ${ran} effects`);
    if (plan.mode !== 'sticky' && !isDead && was === undefined && callId !== 'mail')
      problems.push(`${callId} had no outcome after a single fault: ${errorsOf(before)}`);
    if (plan.mode !== 'sticky' && !isDead && was !== undefined && isUnavailable(was))
      problems.push(`${callId} was refused twice after a single fault: ${JSON.stringify(was)}`);
  }
  problems.push(...(await checkLedger(places.ledger, last)));
  const outcomes = [...last.values()];
  return {
    hit: readHit(folder),
    problems,
    exceptions,
    told: [...first.values()].filter((outcome) => !isUnavailable(outcome)).length,
    succeeded: outcomes.filter(isSuccess).length,
    indeterminate: outcomes.filter((outcome) => codeOf(outcome) === 'tool.indeterminate').length,
    notRun: outcomes.filter((outcome) => !isSuccess(outcome) && codeOf(outcome) !== 'tool.indeterminate')
      .length,
  };
}

/**
 * The commits in the log are lost, whatever the process does. So it must notice: only the call whose commit was being
 * flushed may still be answered.
 */
function judgeCut(folder: string, told: readonly Told[], problems: readonly string[]): Trial {
  const since = told.filter((line) => line.isAfter).slice(1);
  const unnoticed = since.flatMap((line) =>
    line.type === 'outcome' && isSuccess(line.outcome) ? [`${line.callId} was answered from a cut log`] : [],
  );
  return {
    hit: readHit(folder),
    problems: [...problems, ...unnoticed],
    exceptions: 0,
    told: told.length - since.length,
    succeeded: 0,
    indeterminate: 0,
    notRun: since.filter(({ type }) => type === 'outcome').length,
  };
}

/** Every counted call of a run without faults. */
export async function countPlaces(options: Omit<TrialOptions, 'nth'>): Promise<readonly string[]> {
  const { problems } = await tryFault({ ...options, nth: 0 });
  if (problems.length > 0) throw new Error(`The scenario fails without any fault:\n${problems.join('\n')}`);
  return readFileSync(join(options.folder, 'faults'), 'utf8').trim().split('\n');
}

function runChild(
  { folder, library, plan, nth, compileCache }: TrialOptions,
  places: Places,
): Promise<string> {
  const child = spawn(
    process.execPath,
    [
      '--conditions=quittance-source',
      join(import.meta.dirname, 'child.ts'),
      JSON.stringify({
        ...places,
        told: join(folder, 'told'),
        ...(nth > 0 && { fault: join(folder, 'faults') }),
        isFatal: plan.dies,
      }),
    ],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...process.env,
        NODE_COMPILE_CACHE: compileCache,
        LD_PRELOAD: library,
        FAULT_FOLDER: join(folder, 'failing'),
        FAULT_LOG: join(folder, 'faults'),
        FAULT_OPS: plan.ops,
        FAULT_NTH: String(nth),
        FAULT_MODE: plan.mode,
        FAULT_ERRNO: String(plan.errno),
      },
    },
  );
  let words = '';
  child.stderr.on('data', (data: Buffer) => (words += data.toString()));
  const timer = setTimeout(() => child.kill('SIGKILL'), longestMs);
  return new Promise((resolve) =>
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      resolve(code === 0 ? 'exit 0' : `${signal ?? `exit ${code}`} ${words.trim().slice(0, 1_500)}`.trim());
    }),
  );
}

const errorsOf = (told: readonly Told[]): string =>
  told.flatMap((line) => (line.type === 'error' ? [`${line.step}: ${line.message}`] : [])).join('; ');

const readTold = (path: string): readonly Told[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Told)
    : [];

/** The last answer of each call. */
const outcomesOf = (told: readonly Told[]): Map<CallId, ToolOutcome> =>
  new Map(told.flatMap((line) => (line.type === 'outcome' ? [[line.callId, line.outcome] as const] : [])));

function countEffects(path: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  if (existsSync(path))
    for (const callId of readFileSync(path, 'utf8').trim().split('\n'))
      counts.set(callId, (counts.get(callId) ?? 0) + 1);
  return counts;
}

function readHit(folder: string): string | undefined {
  const path = join(folder, 'faults');
  const [op = '', , file = ''] = existsSync(path) ? readFileSync(path, 'utf8').trim().split(' ') : [];
  return op === '' ? undefined : `${op} ${nameOf(file.slice(join(folder, 'failing').length + 1))}`;
}

/** Names a file by its purpose. */
function nameOf(file: string): string {
  const [first = '', ...rest] = file.split('/');
  if (first === '') return '(folder)';
  if (rest.length > 0) return `${first}/…`;
  return /\.key\./.test(first) ? 'ledger.db.key (draft)' : first;
}

const codeOf = (outcome: ToolOutcome): string | undefined => ('code' in outcome ? outcome.code : undefined);
const isUnavailable = (outcome: ToolOutcome): boolean => codeOf(outcome) === 'ledger.unavailable';
const isSuccess = ({ type }: ToolOutcome): boolean =>
  type === 'ToolExecutionResult' || type === 'ToolArtifactReference';

/** One end per call, equal to its answer; no findings of `verify`. */
async function checkLedger(path: string, told: ReadonlyMap<CallId, ToolOutcome>): Promise<string[]> {
  const problems: string[] = [];
  const ledger = await openLedger(path, { readOnly: true });
  try {
    const ends = (await ledger.readSession('s')).flatMap((event) =>
      event.type === 'tool.responded' && event.final ? [event.outcome] : [],
    );
    for (const [callId, outcome] of told) {
      const own = ends.filter((end) => end.callId === callId);
      if (own.length !== 1) problems.push(`${callId} has ${own.length} ends in the ledger`);
      else if (JSON.stringify(own[0]) !== JSON.stringify(outcome))
        problems.push(
          `${callId} is ${JSON.stringify(own[0])} in the ledger, but was answered ${JSON.stringify(outcome)}`,
        );
    }
    await verifyLedger(
      ledger,
      undefined,
      {
        signal: new AbortController().signal,
        startProgress: () => ({ step: () => undefined, done: () => undefined }),
      },
      async ({ kind, message }) => void problems.push(`verify: ${kind}: ${message}`),
    );
  } finally {
    await ledger.close();
  }
  return problems;
}
