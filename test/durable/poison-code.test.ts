/**
 * Code that ends its process, for every kind of code of the host or of a tool that recovery may run. The
 * first process gets as far as the case says and is killed there. In later processes, that code ends them.
 *
 * Each case starts about five processes. `npm test` runs one for every way through recovery. To run all of
 * them: `POISON=every npx vitest run --project core test/durable/poison-code.test.ts`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime } from 'quittance';
import type { Runtime } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { expectSettledOnce } from '../stage.ts';
import type { Code, PoisonActor, PoisonErrand } from './poison-play.ts';
import { startPoisonActor } from './poison-play.ts';

let folder: string;
let ledgerPath: string;
const actors: PoisonActor[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-poison-'));
  ledgerPath = join(folder, 'ledger.db');
});
afterEach(async () => {
  for (const actor of actors.splice(0)) await actor.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function start(errand: Omit<PoisonErrand, 'ledger'>): Promise<PoisonActor> {
  const actor = await startPoisonActor({ ledger: ledgerPath, ...errand });
  actors.push(actor);
  return actor;
}

/** Starts processes that recover, until one survives. */
async function recoverUntilAlive(
  errand: Omit<PoisonErrand, 'ledger'>,
): Promise<{ readonly deaths: number; readonly survivor: PoisonActor }> {
  for (let deaths = 0; deaths < 8; deaths++) {
    const actor = await start(errand);
    const survived = await actor.tell({ type: 'recover' }).then(
      () => true,
      () => false,
    );
    if (survived) return { deaths, survivor: actor };
    await actor.ended;
  }
  throw new Error('Recovery ended every process.');
}

async function look<Result>(work: (runtime: Runtime) => Promise<Result>): Promise<Result> {
  const ledger = await openLedger(ledgerPath);
  const runtime = createRuntime({ ledger, tools: [] });
  try {
    return await work(runtime);
  } finally {
    await runtime.close();
    await ledger.close();
  }
}

/** Waits until this many questions are open. Another process asks them, and needs the processor meanwhile. */
const untilHeld = (runtime: Runtime, count: number): Promise<void> =>
  eventually(async () => {
    expect((await runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(count);
  });

const approveAll = (runtime: Runtime): Promise<unknown> =>
  runtime.confirmations.list({ status: 'pending' }).then(({ rows }) =>
    Promise.all(
      rows.map(({ confirmationId, inputDigest, preview }) =>
        runtime.confirmations.decide(confirmationId, {
          decision: 'approve',
          by: 'ada',
          inputDigest,
          ...(preview !== undefined && { revision: preview.revision }),
        }),
      ),
    ),
  );

/** An effect that may not run twice, approved and not started: other calls must not affect it. */
const bystander = 'bystander';

/**
 * The first process submits the poisoned call and the bystander, and is killed while the code `until` hangs.
 */
async function leaveOpen(
  tool: string,
  until: Code,
  more: { readonly arguments?: Readonly<Record<string, unknown>> } = {},
): Promise<void> {
  const first = await start({ code: until, does: 'hang', asks: [bystander] });
  await first.tell({ type: 'submit', callId: bystander, tool: 'pay', sessionId: 'other' });
  await look((runtime) => untilHeld(runtime, 1));
  await first.tell({ type: 'submit', callId: 'poison', tool, ...more });
  await first.reached;
  await first.kill();
  await look(approveAll);
}

async function expectBystander(): Promise<void> {
  await look(async (runtime) => {
    const [call] = await runtime.calls.list({ sessionId: 'other' });
    expect(call?.settled?.outcome).toMatchObject({
      type: 'ToolExecutionResult',
      output: { name: bystander },
    });
    expect(call?.attempt).toBe(1);
    await expectSettledOnce(runtime);
    await expectSettledOnce(runtime, 'other');
  });
}

const readPoison = (): Promise<unknown> =>
  look(
    async (runtime) => (await runtime.calls.list({ sessionId: 's', callId: 'poison' }))[0]?.settled?.outcome,
  );

const neverRan = {
  type: 'ToolFailure',
  code: 'tool.cancelled',
  retryable: false,
  error: expect.stringMatching(/ended each of 3 times .*never started/) as string,
};
const runsEvery = process.env['POISON'] === 'every';
const unknown = { type: 'ToolFailure', code: 'tool.indeterminate', retryable: false };
const failedRead = { type: 'ToolFailure', code: 'tool.execution_error', retryable: false };

describe('[one-outcome] code that ends the process before the body of a call', () => {
  const often = [
    ['preview', 'shown', 'kill'],
    ['cost', 'put_keyed', 'exit'],
  ] as const;
  const seldom = [
    ['hook', 'pay', 'kill'],
    ['rule before', 'pay', 'kill'],
    ['key', 'put_keyed', 'kill'],
    ['input schema', 'put_dated', 'kill'],
  ] as const;
  it.each(runsEvery ? [...often, ...seldom] : often)(
    '[one-outcome] runs in at most three processes: %s of %s (%s)',
    async (code, tool, does) => {
      await leaveOpen(tool, 'hook');
      const { deaths } = await recoverUntilAlive({ code, does });
      expect(deaths).toBe(3);
      expect(await readPoison()).toMatchObject(neverRan);
      await expectBystander();
    },
  );

  it('[one-outcome] runs in at most three processes: repair', async () => {
    await leaveOpen('put_dated', 'repair', { arguments: { other: 1 } });
    const { deaths } = await recoverUntilAlive({ code: 'repair', does: 'kill' });
    expect(deaths).toBe(3);
    expect(await readPoison()).toMatchObject(neverRan);
    await expectBystander();
  });

  it.each([['rule before', 'pay']] as const)(
    '[one-outcome] ends at most three processes after an approval: %s',
    async (code, tool) => {
      const first = await start({ asks: ['poison'] });
      await first.tell({ type: 'submit', callId: 'poison', tool });
      await look((runtime) => untilHeld(runtime, 1));
      await first.kill();
      await look(approveAll);
      const { deaths } = await recoverUntilAlive({ code, does: 'kill', asks: ['poison'] });
      expect(deaths).toBe(3);
      expect(await readPoison()).toMatchObject(neverRan);
    },
  );

  it('[one-outcome] leaves a held call to people if the host’s own decider ends the process', async () => {
    const first = await start({ asks: ['poison'] });
    await first.tell({ type: 'submit', callId: 'poison', tool: 'pay' });
    await look((runtime) => untilHeld(runtime, 1));
    await first.kill();
    const { deaths, survivor } = await recoverUntilAlive({
      code: 'onConfirm',
      does: 'kill',
      asks: ['poison'],
      hasDecider: true,
    });
    expect(deaths).toBe(3);
    expect(survivor.runs()).toBe(0);
    await look(approveAll);
    await look((runtime) =>
      eventually(async () =>
        expect((await runtime.calls.list({ sessionId: 's' }))[0]?.settled).toBeDefined(),
      ),
    );
    expect(await readPoison()).toMatchObject({ output: { name: 'poison' } });
  });

  it('[one-outcome] does not keep a call from being cancelled: cancel of a preview', async () => {
    const first = await start({ code: 'preview', does: 'hang' });
    void first.tell({ type: 'call', callId: 'poison', tool: 'shown' }).catch(() => undefined);
    await first.reached;
    await first.kill();
    const { deaths } = await recoverUntilAlive({ code: 'cancel', does: 'kill' });
    expect(deaths).toBe(3);
    expect(await readPoison()).toMatchObject({ code: 'tool.cancelled' });
  });
});

describe('[one-outcome] code that ends the process after the body of a call started', () => {
  const often = [
    ['success check', 'put_checked', 2, unknown],
    ['rule after', 'get', 2, failedRead],
    ['reconcile', 'pay_asked', 2, unknown],
  ] as const;
  const seldom = [
    ['key', 'put_keyed', 2, unknown],
    ['cost', 'put_keyed', 2, unknown],
    ['resource keys', 'put_keyed', 2, unknown],
    ['input schema', 'put_dated', 2, unknown],
    ['output schema', 'put_checked', 2, unknown],
  ] as const;
  it.each(runsEvery ? [...often, ...seldom] : often)(
    '[one-outcome] runs in at most three processes: %s of %s',
    async (code, tool, expected, outcome) => {
      await leaveOpen(tool, 'body');
      const { deaths } = await recoverUntilAlive({ code, does: 'kill' });
      expect(deaths).toBe(expected);
      expect(await readPoison()).toMatchObject(outcome);
      await expectBystander();
      await look(async (runtime) =>
        expect((await runtime.calls.unresolved()).rows).toHaveLength(outcome === unknown ? 1 : 0),
      );
    },
  );

  it('[one-outcome] runs in at most three processes: a behavior that is asked for a retry', async () => {
    await leaveOpen('fails', 'retry behavior');
    const { deaths } = await recoverUntilAlive({ code: 'retry behavior', does: 'kill' });
    expect(deaths).toBe(3);
    expect(await readPoison()).toMatchObject({ code: 'tool.network_error' });
    await expectBystander();
  });

  it('[one-outcome] runs in at most three processes: reconcile of a call whose worker went silent', async () => {
    const first = await start({ code: 'reconcile', does: 'hang' });
    await first.tell({ type: 'submit', callId: 'poison', tool: 'far' });
    for (;;) if ((await first.tell({ type: 'claim', tool: 'far', leaseMs: 1 })) !== null) break;
    await first.reached;
    await first.kill();
    const { deaths } = await recoverUntilAlive({ code: 'reconcile', does: 'kill' });
    expect(deaths).toBe(3);
    expect(await readPoison()).toMatchObject(unknown);
  });

  it('[one-outcome] runs in at most three processes: undo', async () => {
    const first = await start({ code: 'undo', does: 'hang' });
    await first.tell({ type: 'call', callId: 'poison', tool: 'put' });
    void first.tell({ type: 'undo', callId: 'poison' }).catch(() => undefined);
    await first.reached;
    await first.kill();
    const { deaths } = await recoverUntilAlive({ code: 'undo', does: 'kill' });
    expect(deaths).toBe(2);
    await look(async (runtime) => {
      const calls = await runtime.calls.list({ sessionId: 's' });
      expect(calls.map(({ settled }) => settled?.outcome)).toEqual([
        expect.objectContaining({ type: 'ToolExecutionResult' }),
        expect.objectContaining(unknown),
      ]);
    });
  });
});
