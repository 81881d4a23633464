/**
 * A disk that is really full, through the public API: a small tmpfs if this machine allows mounting one, and
 * a limit on the size of files everywhere. Answers before and after the restart are compared with the
 * effects.
 */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolOutcome } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { World } from '../../bench/crash/world.ts';
import { openWorld } from '../../bench/crash/world.ts';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import type { Errand, Said } from './disk-actor.ts';
import { packageArguments } from '../frameworks/suite/package-arguments.ts';
import { findOpenCalls } from '../../packages/quittance/src/ledger/reads.ts';

const tried = (command: string, ...args: readonly string[]): boolean => {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

let folder: string;
let disk: string;
let world: World;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-disk-'));
  disk = join(folder, 'disk');
  mkdirSync(disk);
  world = await openWorld();
});
afterEach(() => {
  tried('umount', disk);
  world.close();
  rmSync(folder, { recursive: true, force: true });
});

const roomBytes = 1_048_576;
/** Ways to run out of space. `begin` returns the prefix of the command that starts the process. */
type Disk = { readonly begin: () => string; readonly free: () => void };
const limited: Disk = {
  // POSIX counts blocks of 512 bytes, some shells 1,024: either is small enough.
  begin: () => `ulimit -f ${roomBytes / 512}; `,
  free: () => undefined,
};
const mounted: Disk = {
  begin() {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${roomBytes}`, 'tmpfs', disk]);
    return '';
  },
  free: () => void execFileSync('mount', ['-o', 'remount,size=64m', disk]),
};
const probe = mkdtempSync(join(tmpdir(), 'quittance-probe-'));
const canMount = tried('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', probe) && tried('umount', probe);
rmSync(probe, { recursive: true, force: true });
const disks: readonly (readonly [string, Disk])[] = [
  ['a limit on the size of files', limited],
  ...(canMount ? [['a small file system', mounted] as const] : []),
];

const ledgerPath = (): string => join(disk, 'ledger.db');

/** Runs a process to its end and returns its output. */
async function run(under: string, errand: Pick<Errand, 'tool' | 'calls'>): Promise<readonly Said[]> {
  const told: Errand = { ledger: ledgerPath(), world: world.url, ...errand };
  const child = spawn(
    'sh',
    [
      '-c',
      `${under}exec "$0" "$@"`,
      process.execPath,
      ...packageArguments(),
      join(import.meta.dirname, 'disk-actor.ts'),
      JSON.stringify(told),
    ],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  const said: Said[] = [];
  child.on('message', (message) => said.push(message as Said));
  await new Promise((resolve) => child.once('exit', resolve));
  expect(said.at(-1)).toEqual({ type: 'done' });
  return said;
}

const outcomesOf = (said: readonly Said[]): ReadonlyMap<string, ToolOutcome> =>
  new Map(said.flatMap((each) => (each.type === 'told' ? [[each.callId, each.outcome]] : [])));

const codeOf = (outcome: ToolOutcome | undefined): string | undefined =>
  outcome !== undefined && 'code' in outcome ? outcome.code : undefined;

/** Fills the disk, frees it, and repeats every call. */
async function fillAndAskAgain(
  { begin, free }: Disk,
  tool: Errand['tool'],
): Promise<{
  readonly before: ReadonlyMap<string, ToolOutcome>;
  readonly after: ReadonlyMap<string, ToolOutcome>;
}> {
  const before = outcomesOf(await run(begin(), { tool }));
  const ran = new Map([...before.keys()].map((callId) => [callId, world.count(callId)]));
  expect([...before.values()].some((outcome) => codeOf(outcome) !== undefined)).toBe(true);
  for (const [callId, outcome] of before)
    // A call that was not accepted never ran. Any other ran once.
    expect([callId, ran.get(callId)]).toEqual([callId, notAccepted(outcome) ? 0 : 1]);
  free();
  const after = outcomesOf(await run('', { tool, calls: [...before.keys()] }));
  expect([...after.keys()]).toEqual([...before.keys()]);
  return { before, after };
}

const notAccepted = (outcome: ToolOutcome): boolean =>
  outcome.type === 'ToolFailure' &&
  outcome.code === 'ledger.unavailable' &&
  outcome.error.includes('nothing ran');

async function expectSound(): Promise<void> {
  const ledger = await openLedger(ledgerPath());
  try {
    expect(await findOpenCalls(ledger)).toEqual([]);
    const found: string[] = [];
    await verifyLedger(
      ledger,
      undefined,
      {
        signal: new AbortController().signal,
        startProgress: () => ({ step: () => undefined, done: () => undefined }),
      },
      async ({ message }) => void found.push(message),
    );
    expect(found).toEqual([]);
  } finally {
    await ledger.close();
  }
}

/** The same outcomes, as returned now. */
const again = (
  told: readonly (readonly [string, ToolOutcome])[],
  after: ReadonlyMap<string, ToolOutcome>,
): readonly unknown[] => told.map(([callId]) => [callId, after.get(callId)]);

describe.each(disks)('[nothing-lost] on a disk that is full by %s', (_, how) => {
  it('[told-equals-kept] effects happen once, and every returned outcome is returned again', async () => {
    const { before, after } = await fillAndAskAgain(how, 'pay');
    for (const callId of before.keys()) expect([callId, world.count(callId)]).toEqual([callId, 1]);
    const told = [...before].filter(([, outcome]) => !notAccepted(outcome));
    expect(again(told, after)).toEqual(told);
    await expectSound();
  });

  it('[told-equals-kept] a read with an outcome returns it again, and one without is made', async () => {
    const { before, after } = await fillAndAskAgain(how, 'get_it');
    const told = [...before].filter(([, outcome]) => codeOf(outcome) !== 'ledger.unavailable');
    expect(again(told, after)).toEqual(told);
    for (const outcome of after.values()) expect(outcome.type).toBe('ToolExecutionResult');
    await expectSound();
  });

  it('[told-equals-kept] a large output without space ends as indeterminate, and stays so', async () => {
    const { before, after } = await fillAndAskAgain(how, 'make_film');
    expect([...before.values()].map(codeOf)).toContain('tool.indeterminate');
    for (const callId of before.keys()) expect([callId, world.count(callId)]).toEqual([callId, 1]);
    const told = [...before].filter(([, outcome]) => !notAccepted(outcome));
    expect(again(told, after)).toEqual(told);
    await expectSound();
  });
});

describe('[nothing-lost] a file system that is read-only when the next process starts', () => {
  /** By its mount if allowed; otherwise by its permissions, which do not bind root. */
  const protect = (): void => {
    if (canMount) execFileSync('mount', ['-o', 'remount,ro', disk]);
    else chmodSync(disk, 0o555);
  };
  const release = (): void => {
    if (canMount) execFileSync('mount', ['-o', 'remount,rw', disk]);
    else chmodSync(disk, 0o755);
  };

  it('runs nothing there, says why, and has every outcome afterwards', async () => {
    if (canMount) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', disk]);
    const before = outcomesOf(await run('', { tool: 'pay', calls: ['a', 'b'] }));
    protect();
    const refused = await run('', { tool: 'pay', calls: ['a', 'c'] });
    release();
    // Whatever it could open, it ran nothing.
    expect(world.count('c')).toBe(0);
    expect(JSON.stringify(refused)).toMatch(/could not be opened|read-?only|ledger\.unavailable/iu);
    const after = outcomesOf(await run('', { tool: 'pay', calls: ['a', 'b', 'c'] }));
    expect([after.get('a'), after.get('b')]).toEqual([before.get('a'), before.get('b')]);
    expect(['a', 'b', 'c'].map((callId) => world.count(callId))).toEqual([1, 1, 1]);
    await expectSound();
  });
});
