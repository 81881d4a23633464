import type { AnyTool, ToolOutcome } from 'quittance';
import { createRuntime, defineTool, ToolDecision } from 'quittance';
import { contracts, contractsFromYamlString } from 'quittance/contracts';
import { createManualClock } from 'quittance/testing';
import { createMemoryLedger } from 'quittance/ledger';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { envelope, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';

const never = (): Promise<never> => new Promise(() => undefined);
const limitMs = 300_000;
const forever: Parameters<typeof defineTool>[0]['input'] = z.object({ cents: z.number() }).refine(never);

/** Makes a call, lets the time limit pass, and closes the runtime. */
async function outlast({
  clock,
  runtime,
  turn,
}: ReturnType<typeof setStage<readonly AnyTool[]>>): Promise<ToolOutcome | 'open'> {
  const asked = turn.call(envelope('c', 'pay', { cents: 5 }));
  const ended = (): Promise<ToolOutcome | 'open'> =>
    Promise.race([asked, quiet().then(() => 'open' as const)]);
  await quiet();
  clock.advance(limitMs - 1);
  expect(await ended()).toBe('open');
  clock.advance(1);
  await quiet();
  const outcome = await ended();
  if (outcome === 'open') return outcome;
  await expectSettledOnce(runtime);
  await runtime.close();
  return outcome;
}

describe('[one-outcome] a call ends although a check before its body never answers', () => {
  const ran: unknown[] = [];
  const pay = (traits: Partial<Parameters<typeof defineTool>[0]> = {}): AnyTool =>
    defineTool({ name: 'pay', mode: 'external', run: (args: unknown) => ran.push(args), ...traits } as never);

  it('[one-outcome] a hook', async () => {
    const stage = setStage<readonly AnyTool[]>({
      tools: [pay()],
      onPreToolUse: [() => ToolDecision.allow, never],
    });
    expect(await outlast(stage)).toMatchObject({ type: 'ToolDenied', reason: 'pre_hook' });
    const events = await stage.runtime.events.list({ sessionId: 's' });
    expect(JSON.stringify(events)).toContain('never did not answer within 5 minutes.');
    expect(ran).toEqual([]);
  });

  it('[one-outcome] a hook after the approval', async () => {
    let asked = 0;
    const stage = setStage<readonly AnyTool[]>({
      tools: [pay()],
      onPreToolUse: () => (asked++ === 0 ? ToolDecision.requiresConfirmation('Pay?') : never()),
      onConfirm: () => ({ decision: 'approve', by: 'Ada' }),
    });
    expect(await outlast(stage)).toMatchObject({ type: 'ToolDenied', reason: 'pre_hook' });
    expect(ran).toEqual([]);
  });

  it('[one-outcome] a schema', async () => {
    const stage = setStage<readonly AnyTool[]>({ tools: [pay({ input: forever })] });
    expect(await outlast(stage)).toMatchObject({
      type: 'ToolDenied',
      reason: 'validation',
      details: expect.stringContaining('The schema did not answer within 5 minutes.') as string,
    });
    expect(ran).toEqual([]);
  });

  it('[one-outcome] a rule written as a function', async () => {
    const rules = contracts({ rules: [{ id: 'ask-the-bank', tool: 'pay', before: never }] });
    const stage = setStage<readonly AnyTool[]>({ tools: [pay()], contracts: rules });
    expect(await outlast(stage)).toMatchObject({ type: 'ToolDenied', reason: 'contract' });
    expect(JSON.stringify(await stage.runtime.events.list({ sessionId: 's' }))).toContain(
      'A rule written as a function did not answer within 5 minutes.',
    );
    expect(ran).toEqual([]);
  });

  it('[one-outcome] a command of a workflow', async () => {
    const workflow = `apiVersion: edictum/v1
kind: Workflow
metadata: { name: release, version: '1' }
stages:
  - id: wait
    tools: [look]
    exit: [{ condition: 'exec("make ready", exit_code=0)', message: Not ready }]
  - id: pay
    tools: [pay]
`;
    const rules = contractsFromYamlString(workflow, { exec: never });
    const stage = setStage<readonly AnyTool[]>({ tools: [pay()], contracts: rules });
    expect(await outlast(stage)).toMatchObject({
      type: 'ToolDenied',
      reason: 'contract',
      details: 'Not ready',
    });
    expect(ran).toEqual([]);
  });

  it('[one-outcome] the repair of arguments', async () => {
    const stage = setStage<readonly AnyTool[]>({
      tools: [pay({ input: z.object({ order: z.string() }) })],
      repair: never,
    });
    expect(await outlast(stage)).toMatchObject({ type: 'ToolDenied', reason: 'validation' });
    expect(JSON.stringify(await stage.runtime.events.list({ sessionId: 's' }))).toContain(
      'Repair, try 1: it did not answer within 5 minutes.',
    );
  });
});

it('[one-outcome] a batch ends at the deadline of its turn although a schema never answers', async () => {
  const clock = createManualClock();
  const runtime = createRuntime({
    clock,
    ledger: createMemoryLedger({ clock }),
    tools: [
      defineTool({ name: 'pay', mode: 'external', input: forever, resourceKeys: () => ['a'], run: () => 1 }),
      defineTool({ name: 'look', mode: 'read', run: () => 2 }),
    ],
  });
  const turn = runtime.turn({ sessionId: 's', timeoutMs: 1_000 });
  const asked = turn.callAll([envelope('a', 'pay', { cents: 5 }), envelope('b', 'look')]);
  await quiet();
  clock.advance(1_000);
  await quiet();
  expect(await Promise.race([asked, quiet().then(() => 'still open')])).toMatchObject([
    { type: 'ToolDenied', reason: 'deadline' },
    { type: 'ToolDenied', reason: 'deadline' },
  ]);
});
