/** Hand-offs between two processes on one file: with either side killed, nothing is lost or done twice. */
import type { AnyTool, Runtime, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { envelope, expectSettledOnce } from '../stage.ts';
import type { Actor, Play } from './play.ts';
import { openPlay } from './play.ts';
import { findOpenCalls } from '../../packages/quittance/src/ledger/reads.ts';

let play: Play;
let ledger: OpenLedger;
let runtime: Runtime;
beforeEach(async () => {
  play = await openPlay();
  ledger = await openLedger(play.ledger);
  const tools: readonly AnyTool[] = [
    defineTool({ name: 'ship', mode: 'external', handoff: true }),
    defineTool({ name: 'get_far', mode: 'read', handoff: true }),
  ];
  runtime = createRuntime({ ledger, tools });
});
afterEach(async () => {
  await runtime.close();
  await ledger.close();
  play.end();
});

const code = (outcome: ToolOutcome): string => ('code' in outcome ? outcome.code : outcome.type);

/** Waits until the call is visible to workers. */
async function untilHandedOver(): Promise<void> {
  while ((await runtime.handoffs.list()).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 10));
}

/** Makes the call; its answer may never arrive. */
function ask(actor: Actor, tool: string): Promise<ToolOutcome> {
  const told = actor.call('c1', tool, { key: 'it' });
  told.catch(() => undefined);
  return told;
}

describe('a call made in one process and run in another', () => {
  it('[one-outcome] has one effect, and both get the same outcome', async () => {
    const [asking, working, idle] = await Promise.all([play.start(), play.start(), play.start()]);
    const told = ask(asking, 'ship');
    await untilHandedOver();
    const [first, second] = (await Promise.all(
      [working, idle].map((worker) => worker.tell({ type: 'work', tool: 'ship' })),
    )) as ({ outcome: ToolOutcome } | undefined)[];
    expect([first, second].filter((reported) => reported !== undefined)).toHaveLength(1);
    expect(await told).toEqual((first ?? second)?.outcome);
    expect(play.world.count('it')).toBe(1);
    await expectSettledOnce(runtime);
  });

  it('[no-silent-rerun] outlives its caller: it is neither lost nor unresolved', async () => {
    const [asking, working] = await Promise.all([play.start(), play.start()]);
    void ask(asking, 'ship');
    await untilHandedOver();
    await asking.kill();
    expect(await runtime.recover()).toMatchObject([{ callId: 'c1', how: 'resumed' }]);
    expect(await runtime.handoffs.list()).toMatchObject([{ status: 'waiting' }]);
    const again = runtime.turn({ sessionId: 's' }).call(envelope('c1', 'ship', { key: 'it' }));
    await working.tell({ type: 'work', tool: 'ship' });
    expect(await again).toMatchObject({ output: { key: 'it' } });
    expect(play.world.count('it')).toBe(1);
    await expectSettledOnce(runtime);
  });

  it('[no-silent-rerun] whose worker is killed after its effect goes to no other worker, and is unresolved', async () => {
    const [asking, working] = await Promise.all([play.start(), play.start({ afterwards: 'hang' })]);
    const told = ask(asking, 'ship');
    await untilHandedOver();
    void working.tell({ type: 'work', tool: 'ship', leaseMs: 1_500 });
    await working.reached;
    await working.kill();
    expect(await runtime.handoffs.claim({ toolName: 'ship' }, { worker: 'second' })).toBeUndefined();
    expect(code(await told)).toBe('tool.indeterminate');
    expect(await runtime.handoffs.claim({ toolName: 'ship' }, { worker: 'second' })).toBeUndefined();
    expect(play.world.count('it')).toBe(1);
    await expectSettledOnce(runtime);
  });

  it('whose worker is killed is run again by another if the tool declares that safe', async () => {
    const [asking, working] = await Promise.all([play.start(), play.start({ afterwards: 'hang' })]);
    const told = ask(asking, 'get_far');
    await untilHandedOver();
    const [leaseMs, before] = [3_000, ledger.now()];
    void working.tell({ type: 'work', tool: 'get_far', leaseMs });
    await working.reached;
    await working.kill();
    let claim = await runtime.handoffs.claim({ toolName: 'get_far' }, { worker: 'second' });
    // On a busy machine the lease may have ended by now.
    const isLeased = ledger.now() - before < leaseMs;
    expect([isLeased, claim !== undefined]).not.toEqual([true, true]);
    while (claim === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      claim = await runtime.handoffs.claim({ toolName: 'get_far' }, { worker: 'second' });
    }
    expect(claim).toMatchObject({ attempt: 2, arguments: { key: 'it' } });
    await runtime.handoffs.report(claim.token, { output: 'second' });
    expect(await told).toMatchObject({ output: 'second' });
    await expectSettledOnce(runtime);
  });

  it('[one-outcome] whose caller and worker are both killed ends with its lease, for any process that looks', async () => {
    const [asking, working] = await Promise.all([play.start(), play.start({ afterwards: 'hang' })]);
    void ask(asking, 'ship');
    await untilHandedOver();
    void working.tell({ type: 'work', tool: 'ship', leaseMs: 1_000 });
    await working.reached;
    await Promise.all([asking.kill(), working.kill()]);
    const outcome = await runtime.turn({ sessionId: 's' }).call(envelope('c1', 'ship', { key: 'it' }));
    expect(code(outcome)).toBe('tool.indeterminate');
    expect(play.world.count('it')).toBe(1);
    expect(await findOpenCalls(ledger)).toEqual([]);
    await expectSettledOnce(runtime);
  });
});
