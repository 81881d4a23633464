/** Runs that stop for approvals, and what people and the ledger say meanwhile. */
import type { Tool } from '@openai/agents';
import { Agent, Runner, RunState, tool } from '@openai/agents';
import type { OpenAiAgentsOptions } from '@quittance/openai-agents';
import { governTools } from '@quittance/openai-agents';
import { expect, test, vi } from 'vitest';
import { eventually } from './suite/eventually.ts';
import { z } from 'zod';
import { scriptedModel } from './harnesses/openai-agents.ts';
import type { Round, Told } from './suite/harness.ts';

type Context = { readonly sessionId: string };
const context: Context = { sessionId: 'thread-1' };
type State = RunState<Context, Agent<Context, 'text'>>;

const call = (id: string, args: unknown = { cents: 5 }): Round => ({
  calls: [{ id, name: 'pay', arguments: args as Record<string, unknown> }],
});

/** A shop that asks about payments, and a stopped run of it. */
async function stop(options: OpenAiAgentsOptions<Context> = {}, first: Round = call('c1')) {
  const execute = vi.fn<(input: { cents: number }) => string>(() => 'paid');
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ cents: z.number() }),
    execute,
  });
  const governed = await governTools([pay], {
    approver: 'grace',
    overrides: { pay: { mode: 'destructive' } },
    ...options,
  });
  const { runtime } = governed;
  const told: Told[] = [];
  const agentFor = (script: readonly Round[]) =>
    new Agent<Context>({ name: 'agent', model: scriptedModel(script, told), tools: governed.tools });
  const stopped = await new Runner().run(agentFor([first]), 'Go.', { context });
  /** Continues from the stored state, like another process. */
  const goOn = async (
    answer: (state: State) => void,
    script: readonly Round[] = [{ text: 'Done.' }],
    signal?: AbortSignal,
    stored: string = stopped.state.toString(),
  ) => {
    const agent = agentFor(script);
    const state: State = await RunState.fromString(agent, stored);
    answer(state);
    await governed.takeApprovals(state);
    return new Runner().run(agent, state, signal === undefined ? {} : { signal });
  };
  const decide = async (decision: 'approve' | 'deny', reason?: string) => {
    const [question] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    const { confirmationId, inputDigest } = question ?? { confirmationId: '', inputDigest: '' };
    await runtime.confirmations.decide(confirmationId, {
      decision,
      by: 'ada',
      inputDigest,
      ...(reason !== undefined && { reason }),
    });
  };
  const keptOf = async (callId: string) => (await runtime.calls.list({ sessionId: 'thread-1', callId }))[0];
  return { ...governed, execute, stopped, goOn, decide, keptOf, told };
}

const approveAll = (state: State): void => {
  for (const interruption of state.getInterruptions()) state.approve(interruption);
};
const rejectAll = (state: State): void => {
  for (const interruption of state.getInterruptions()) state.reject(interruption, { message: 'Too much.' });
};
const sayNothing = (): void => undefined;

test('a rejection is a denial by the named person, and the model gets the tabled content', async () => {
  const { goOn, execute, keptOf, told } = await stop();
  const result = await goOn(rejectAll);
  expect([result.finalOutput, execute.mock.calls]).toEqual(['Done.', []]);
  const kept = await keptOf('c1');
  expect(kept?.confirmation).toMatchObject({ status: 'denied', by: { name: 'grace' }, reason: 'Too much.' });
  expect(JSON.parse(told[0]?.texts[0] ?? '')).toMatchObject({ blocked: true });
});

test('a call denied elsewhere continues without an answer through the SDK', async () => {
  const { goOn, decide, execute, told } = await stop();
  await decide('deny', 'Not today.');
  expect((await goOn(sayNothing)).finalOutput).toBe('Done.');
  expect(execute).not.toHaveBeenCalled();
  expect(told[0]?.texts[0]).toContain('Not today.');
});

test('a call approved elsewhere runs once, however often the state is resumed', async () => {
  const { goOn, decide, execute } = await stop();
  await decide('approve');
  expect((await goOn(sayNothing)).finalOutput).toBe('Done.');
  expect((await goOn(approveAll)).finalOutput).toBe('Done.');
  expect(execute).toHaveBeenCalledOnce();
});

test('the first decision counts: a rejection through the SDK is too late after an approval', async () => {
  const { goOn, decide, keptOf, execute } = await stop();
  await decide('approve');
  expect((await goOn(rejectAll)).finalOutput).toBe('Done.');
  expect(execute).toHaveBeenCalledOnce();
  expect((await keptOf('c1'))?.confirmation).toMatchObject({ status: 'approved', by: { name: 'ada' } });
});

test('a run without an answer stops again', async () => {
  const { goOn, execute } = await stop();
  const result = await goOn(sayNothing);
  expect(result.interruptions.map(({ name }) => name)).toEqual(['pay']);
  expect(execute).not.toHaveBeenCalled();
});

test('an approval without a name does not count: the tool waits for a person', async () => {
  const { goOn, decide, execute, runtime } = await stop({ approver: () => undefined });
  const running = goOn(approveAll);
  await eventually(async () =>
    expect((await runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(1),
  );
  expect(execute).not.toHaveBeenCalled();
  await decide('approve');
  expect((await running).finalOutput).toBe('Done.');
  expect(execute).toHaveBeenCalledOnce();
});

test('a rejection without a name lets nothing run, and leaves the question open', async () => {
  const { goOn, execute, keptOf, told } = await stop({ approver: () => undefined });
  expect((await goOn(rejectAll)).finalOutput).toBe('Done.');
  expect(execute).not.toHaveBeenCalled();
  expect(told[0]?.texts).toEqual(['Too much.']);
  expect((await keptOf('c1'))?.confirmation?.status).toBe('pending');
});

test('alwaysApprove of the SDK answers the current question, and no later one', async () => {
  const { goOn, execute, keptOf } = await stop();
  const controller = new AbortController();
  const running = goOn(
    (state) => {
      for (const interruption of state.getInterruptions())
        state.approve(interruption, { alwaysApprove: true });
    },
    [call('c2', { cents: 900 }), { text: 'Done.' }],
    controller.signal,
  );
  running.catch(() => undefined); // checked below
  await eventually(async () => expect((await keptOf('c2'))?.confirmation?.status).toBe('pending'));
  expect(execute.mock.calls.map(([input]) => input)).toEqual([{ cents: 5 }]);
  controller.abort(new Error('enough'));
  await expect(running).rejects.toThrow('enough');
  expect(execute).toHaveBeenCalledOnce();
});

test.each(['{"cents":', '', '[9]'])(
  'a run that stopped for arguments that are not an object continues without an approval: %s',
  async (text) => {
    const { stopped, goOn, execute, keptOf } = await stop({}, call('c1', text));
    expect(stopped.interruptions).toHaveLength(1);
    expect((await keptOf('c1'))?.confirmation).toBeUndefined();
    const result = await goOn(sayNothing);
    expect([result.finalOutput, result.interruptions, execute.mock.calls]).toEqual(['Done.', [], []]);
  },
);

test('a rejection of arguments that are not an object is the answer of the SDK', async () => {
  const { goOn, told, keptOf } = await stop({}, call('c1', '[9]'));
  expect((await goOn(rejectAll)).finalOutput).toBe('Done.');
  expect(told[0]?.texts).toEqual(['Too much.']);
  expect(await keptOf('c1')).toBeUndefined();
});

test('a run whose question the ledger has lost stops and asks again', async () => {
  const first = await stop();
  const second = await stop({}, { text: 'Nothing yet.' });
  const result = await second.goOn(
    sayNothing,
    [{ text: 'Done.' }],
    undefined,
    first.stopped.state.toString(),
  );
  expect(result.interruptions).toHaveLength(1);
  expect((await second.keptOf('c1'))?.confirmation?.status).toBe('pending');
});

test('an approval through the SDK of a call that the ledger does not know does not let it run', async () => {
  const first = await stop();
  // Another ledger, as after a loss: it has no questions.
  const second = await stop({}, { text: 'Nothing yet.' });
  const controller = new AbortController();
  const stored = first.stopped.state.toString();
  const running = second.goOn(approveAll, [{ text: 'Done.' }], controller.signal, stored);
  running.catch(() => undefined); // checked below
  await eventually(async () => expect((await second.keptOf('c1'))?.confirmation?.status).toBe('pending'));
  controller.abort(new Error('enough'));
  await expect(running).rejects.toThrow('enough');
  expect(second.execute).not.toHaveBeenCalled();
});

test.each([
  ['as one call, and cannot', {}, 0, 'ungoverned: ["helper"]'],
  ['as it is, and does', { ungoverned: ['helper'] }, 1, 'Done.'],
] as const)(
  'an agent as a tool whose own tools stop the run must continue inside: %s',
  async (_, options, times, ending) => {
    const inner = await stop({}, { text: 'Nothing yet.' });
    const helperFor = (script: readonly Round[]) =>
      new Agent<Context>({ name: 'helper', model: scriptedModel(script, []), tools: inner.tools });
    const agentFor = async (helper: Agent<Context>, script: readonly Round[]) => {
      const asTool = helper.asTool({ toolName: 'helper', toolDescription: 'Helps.' });
      const { tools } = await governTools([asTool as Tool<Context>], options);
      return new Agent<Context>({ name: 'agent', model: scriptedModel(script, []), tools });
    };
    const asking: Round = { calls: [{ id: 'o1', name: 'helper', arguments: { input: 'Pay.' } }] };
    const first = await agentFor(helperFor([call('c1')]), [asking]);
    const stopped = await new Runner().run(first, 'Go.', { context });
    expect(stopped.interruptions.map(({ name }) => name)).toEqual(['pay']);
    const agent = await agentFor(helperFor([{ text: 'Paid.' }]), [{ text: 'Done.' }]);
    const state: State = await RunState.fromString(agent, stopped.state.toString());
    approveAll(state);
    await inner.takeApprovals(state);
    const ended = await new Runner().run(agent, state).then(
      ({ finalOutput }) => finalOutput,
      (error: Error) => error.message,
    );
    expect(ended).toContain(ending);
    expect(inner.execute).toHaveBeenCalledTimes(times);
  },
);
