/** Retries and behaviors of processes that are killed in the middle, and how another process continues. */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { QuittanceEvent } from 'quittance/events';
import { createRuntime } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Errand } from './actor.ts';
import { packageArguments } from '../frameworks/suite/package-arguments.ts';

let folder: string;
let children: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-behaviors-'));
  writeFileSync(join(folder, 'world'), '');
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a process and resolves with its output. */
function run(errand: Omit<Errand, 'ledger' | 'world'>): Promise<string> & { readonly child: ChildProcess } {
  const told: Errand = { ledger: join(folder, 'ledger.db'), world: join(folder, 'world'), ...errand };
  const child = fork(join(import.meta.dirname, 'actor.ts'), [JSON.stringify(told)], {
    execArgv: [...packageArguments()],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  children.push(child);
  const said = new Promise<string>((resolve, reject) => {
    child.once('message', (message) => resolve(message as string));
    child.once('exit', (code, signal) => reject(new Error(`It is gone: ${signal ?? code}`)));
  });
  return Object.assign(said, { child });
}

async function killedAt(errand: Omit<Errand, 'ledger' | 'world'>): Promise<void> {
  const started = run(errand);
  expect(await started).toBe('here');
  const gone = new Promise((resolve) => started.child.once('exit', resolve));
  started.child.kill('SIGKILL');
  await gone;
}

const world = (): string[] => readFileSync(join(folder, 'world'), 'utf8').split('\n').filter(Boolean);

async function events(): Promise<readonly QuittanceEvent[]> {
  const ledger = await openLedger(join(folder, 'ledger.db'));
  try {
    return await createRuntime({ tools: [], ledger }).events.list({ sessionId: 's' });
  } finally {
    await ledger.close();
  }
}

/** Without the takeovers by later processes. */
const ofCall = (all: readonly QuittanceEvent[], callId: string): string[] =>
  all
    .filter((event) => 'callId' in event && event.callId === callId && event.type !== 'tool.taken_over')
    .map((event) =>
      event.type === 'tool.responded' && !event.final ? 'tool.responded (not final)' : event.type,
    );

const triedTwice = [
  'tool.requested',
  'tool.decided',
  'tool.started',
  'tool.responded (not final)',
  'retry.requested',
  'tool.started',
  'tool.responded',
];

describe('a call whose process is killed', () => {
  it('a call whose process is killed while it waits for a retry is retried by the next process, when it is due', async () => {
    await killedAt({ play: 'attempts', failures: 1, halt: 'in backoff', begin: true });
    expect(world()).toEqual(['run']);
    expect(await run({ play: 'attempts', failures: 1, begin: false })).toBe('done');
    expect(world()).toEqual(['run', 'run']);
    const all = await events();
    expect(ofCall(all, 'c')).toEqual(triedTwice);
    expect(all.filter((event) => event.type === 'tool.taken_over')).toMatchObject([
      { callId: 'c', takeover: 1 },
    ]);
    const asked = all.find((event) => event.type === 'retry.requested');
    const second = all.filter((event) => event.type === 'tool.started').at(-1);
    expect(second?.cause).toBe(asked?.id);
    expect(second?.at).toBeGreaterThanOrEqual(asked?.notBefore ?? Number.POSITIVE_INFINITY);
  });

  it('a call whose process is killed between two attempts is left by a process without its tool to the next that has it', async () => {
    await killedAt({ play: 'attempts', failures: 1, halt: 'in backoff', begin: true });
    const ledger = await openLedger(join(folder, 'ledger.db'));
    const without = createRuntime({ tools: [], ledger });
    for (let again = 0; again < 2; again++)
      expect(await without.recover()).toMatchObject([{ callId: 'c', how: 'left' }]);
    await without.close();
    await ledger.close();
    expect(await run({ play: 'attempts', failures: 1, begin: false })).toBe('done');
    expect(world()).toEqual(['run', 'run']);
    expect(ofCall(await events(), 'c')).toEqual(triedTwice);
  });

  it('before its behavior has answered is offered to the behavior of the next process', async () => {
    await killedAt({ play: 'own retry', failures: 1, halt: 'before asking', begin: true });
    expect(await run({ play: 'own retry', failures: 1, begin: false })).toBe('done');
    expect(world()).toEqual(['run', 'asked', 'asked', 'run']);
    expect(ofCall(await events(), 'c')).toEqual(triedTwice);
  });

  it('a call whose process is killed between two attempts ends with its last failure if no retry is requested', async () => {
    await killedAt({ play: 'own retry', failures: 1, halt: 'before asking', begin: true });
    expect(await run({ play: 'redelivery', failures: 0, begin: true })).toBe('done');
    const all = await events();
    expect(ofCall(all, 'c')).toEqual([...triedTwice.slice(0, 4), 'tool.responded']);
    expect(all.filter((event) => event.type === 'tool.responded' && event.callId === 'c')).toMatchObject([
      { attempt: 1, final: false, outcome: { code: 'tool.network_error' } },
      { attempt: 1, final: true, outcome: { code: 'tool.network_error' } },
    ]);
  });
});

describe('a behavior whose process is killed', () => {
  it('gets the same event in the next process, and none of its tool calls is repeated', async () => {
    await killedAt({ play: 'redelivery', failures: 0, halt: 'after the effect', begin: true });
    expect(await run({ play: 'redelivery', failures: 0, begin: false })).toBe('done');
    expect(world()).toEqual(['report 1', 'paid', 'report 1', 'run']);
    const all = await events();
    expect(all.filter(({ type }) => (type as string) === 'report.sent')).toHaveLength(1);
  });

  it('before its emitted event was stored emits it once', async () => {
    await killedAt({ play: 'redelivery', failures: 0, halt: 'in the behavior', begin: true });
    expect((await events()).filter(({ type }) => (type as string) === 'report.sent')).toHaveLength(0);
    expect(await run({ play: 'redelivery', failures: 0, begin: false })).toBe('done');
    const all = await events();
    expect(all.filter(({ type }) => (type as string) === 'report.sent')).toHaveLength(1);
    expect(world()).toEqual(['report 1', 'paid', 'run', 'report 1']);
  });

  it('a behavior whose process is killed in the middle of a retry is retried by the next process, as the page on tool errors says', async () => {
    await killedAt({ play: 'redelivery', failures: 2, halt: 'in the retry behavior', begin: true });
    expect(await run({ play: 'redelivery', failures: 2, begin: false })).toBe('done');
    const all = await events();
    const types = all
      .map(({ type }) => type as string)
      .filter((type) => /^(behavior|retry|report)\./.test(type));
    expect(types).toEqual([
      'behavior.failed',
      'retry.requested',
      'behavior.failed',
      'retry.requested',
      'report.sent',
    ]);
    expect(world().filter((line) => line === 'paid')).toHaveLength(1);
  });
});

it('one of two processes runs a durable behavior, and the other continues when it is killed', async () => {
  const first = run({ play: 'redelivery', failures: 0, halt: 'after the effect', begin: true });
  expect(await first).toBe('here');
  const second = run({ play: 'redelivery', failures: 0, begin: false });
  // Long enough to have taken what it must not take.
  expect(await Promise.race([second, delay(1_500, 'waits')])).toBe('waits');
  expect(world()).toEqual(['report 1', 'paid']);
  first.child.kill('SIGKILL');
  expect(await second).toBe('done');
  expect(world()).toEqual(['report 1', 'paid', 'report 1', 'run']);
});

describe('a durable behavior whose handler ends the process', () => {
  const start = (...calls: readonly string[]): Promise<string> =>
    run({ play: 'poison', failures: 0, begin: calls.length > 0, calls });
  const poisoned = (): number => world().filter((line) => line === 'heard poison').length;

  it('gets the event in three processes; then the failure is stored and the rest is delivered', async () => {
    await expect(start('before', 'poison')).rejects.toThrow('SIGKILL');
    for (let process = 2; process <= 3; process++) await expect(start()).rejects.toThrow('SIGKILL');
    expect(poisoned()).toBe(3);
    expect(await start('last')).toBe('done');
    expect(poisoned()).toBe(3);
    for (const callId of ['before', 'last']) expect(world()).toContain(`heard ${callId}`);
    expect((await events()).filter(({ type }) => type === 'behavior.failed')).toMatchObject([
      {
        behavior: 'poisoned',
        reason: 'behavior.lost',
        triggeringCallId: 'poison',
        message: expect.stringContaining('each of 3 times') as string,
      },
    ]);
  });
});
