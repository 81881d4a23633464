/**
 * A held call that another process continues ends as in the process that made it. Each case runs twice on a memory
 * ledger: in one process, and in a second one after the first was killed.
 */
import type { AnyTool, Runtime, RuntimeOptions, ToolOutcome, TurnOptions } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { createRuntime, defineTool, ToolDecision, toolResult } from 'quittance';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createMortalLedger } from '../../../../test/mortal-ledger.ts';
import { openQuestions, question, yes } from '../../../../test/people/question.ts';
import { envelope, quiet } from '../../../../test/stage.ts';

type Case = {
  readonly tools: (seen: unknown[]) => readonly AnyTool[];
  readonly options?: Partial<RuntimeOptions<readonly AnyTool[]>>;
  readonly turn?: Partial<TurnOptions>;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What happens before the call. */
  readonly before?: (runtime: Runtime) => Promise<unknown>;
  readonly decide?: (runtime: Runtime) => Promise<unknown>;
};

const ask = { treatments: { safe_write: 'ask' as const, external: 'ask' as const } };
const approve = async (runtime: Runtime): Promise<void> => {
  const open = await question(runtime);
  await runtime.confirmations.decide(open.confirmationId, yes(open));
};
async function edit(runtime: Runtime): Promise<void> {
  const open = await question(runtime);
  const decision = { ...yes(open), decision: 'edit', arguments: { amount: 5 } } as const;
  await runtime.confirmations.decide(open.confirmationId, decision);
}
const amount = z.object({ amount: z.int() });

const cases: Readonly<Record<string, Case>> = {
  'a call whose arguments were mended tells the model so': {
    tools: (seen) => [
      defineTool({ name: 'refund', mode: 'destructive', input: amount, run: (args) => seen.push(args) }),
    ],
    name: 'refund',
    input: { amount: '12' },
  },
  'a call whose arguments were repaired tells the model so': {
    tools: (seen) => [
      defineTool({ name: 'refund', mode: 'destructive', input: amount, run: (args) => seen.push(args) }),
    ],
    options: { repair: () => ({ amount: 7 }) },
    name: 'refund',
    input: { amount: 'seven' },
  },
  'a call whose arguments a person edited tells the model so': {
    tools: (seen) => [
      defineTool({ name: 'refund', mode: 'destructive', input: amount, run: (args) => seen.push(args) }),
    ],
    name: 'refund',
    input: { amount: '12' },
    decide: (runtime) => edit(runtime),
  },
  'an approved repeat takes over the key of a call with an unknown end': {
    tools: (seen) => [pay(seen, 'session')],
    name: 'pay',
    input: { order: 'o1' },
    before: (runtime) => runtime.turn({ sessionId: 's' }).call(envelope('earlier', 'pay', { order: 'o1' })),
  },
  'an approved repeat takes over a ledger-wide key from another session': {
    tools: (seen) => [pay(seen, 'ledger')],
    name: 'pay',
    input: { order: 'o1' },
    before: (runtime) => runtime.turn({ sessionId: 'o' }).call(envelope('earlier', 'pay', { order: 'o1' })),
  },
  'a body sees the caller and the approved preview': {
    tools: (seen) => [
      defineTool({
        name: 'write_file',
        mode: 'safe_write',
        input: z.object({ path: z.string() }),
        preview: () => ({ kind: 'text', text: 'new', snapshot: { sha: 'abc' } }),
        run: (_, { principal, approved, idempotencyKey }) =>
          seen.push({ principal, snapshot: approved?.snapshot, idempotencyKey }),
      }),
    ],
    options: ask,
    turn: {
      principal: { userId: 'bob', claims: { api_key: 'correct-horse-battery' } },
      attrs: { plan: 'gold' },
    },
    name: 'write_file',
    input: { path: 'a.txt' },
  },
  'rules see the caller and the attributes after the approval': {
    tools: (seen) => [defineTool({ name: 'refund', mode: 'destructive', run: () => seen.push('ran') })],
    options: {
      onPreToolUse: ({ principal, attrs }) =>
        principal?.userId === 'bob' && attrs?.['plan'] === 'gold'
          ? ToolDecision.allow
          : ToolDecision.block(`Not ${String(principal?.userId)}.`),
    },
    turn: { principal: { userId: 'bob' }, attrs: { plan: 'gold' } },
    name: 'refund',
    input: {},
  },
  'a value that JSON cannot hold reaches the body': {
    tools: (seen) => [
      defineTool({
        name: 'refund',
        mode: 'destructive',
        input: z.object({ at: z.string().transform((text) => new Date(text)) }),
        run: ({ at }) => seen.push(at instanceof Date ? at.toISOString() : at),
      }),
    ],
    name: 'refund',
    input: { at: '2026-01-02T03:04:05.000Z' },
  },
  'a warning about the result reaches the model': {
    tools: () => [defineTool({ name: 'refund', mode: 'destructive', run: () => 'contains SECRETWORD' })],
    options: {
      contracts: contractsFromYamlString(`apiVersion: edictum/v1
kind: ContractBundle
metadata: { name: t }
defaults: { mode: enforce }
contracts:
  - id: words
    type: post
    tool: refund
    when: { output.text: { contains: SECRETWORD } }
    then: { effect: warn, message: 'Mind the word.' }
`),
    },
    name: 'refund',
    input: {},
  },
};

function pay(seen: unknown[], idempotencyScope: 'session' | 'ledger'): AnyTool {
  return defineTool({
    name: 'pay',
    mode: 'external',
    input: z.object({ order: z.string() }),
    idempotencyKey: ({ order }) => order,
    idempotencyScope,
    run: () => {
      if (seen.push('paid') === 1) throw new Error('connection lost');
      return 'paid';
    },
  });
}

async function play(
  { tools, options, turn, name, input, before, decide = approve }: Case,
  isKilled: boolean,
): Promise<{ readonly told: ToolOutcome; readonly seen: readonly unknown[] }> {
  const clock = createManualClock();
  const file = createMortalLedger(clock);
  const seen: unknown[] = [];
  const start = (): { readonly runtime: Runtime; readonly kill: () => void } => {
    const { ledger, kill } = file.open();
    return { runtime: createRuntime({ clock, ledger, tools: tools(seen), ...options }), kill };
  };
  const call = (runtime: Runtime): Promise<ToolOutcome> =>
    runtime.turn({ sessionId: 's', turnId: 't', ...turn }).call(envelope('c', name, input));
  const first = start();
  await before?.(first.runtime);
  let told = call(first.runtime);
  told.catch(() => undefined);
  await question(first.runtime);
  let { runtime } = first;
  if (isKilled) {
    first.kill();
    ({ runtime } = start());
    told = call(runtime);
    for (let round = 0; round < 5; round++) await quiet();
  }
  await decide(runtime);
  return { told: await told, seen };
}

for (const [title, given] of Object.entries(cases))
  it(`${title}, in any process`, async () => {
    const here = await play(given, false);
    expect(here.told.type).toMatch(/ToolExecutionResult|ToolFailure/u);
    expect(await play(given, true)).toEqual(here);
  });

it('a run that is made again after a kill tells the model of the edit', async () => {
  const clock = createManualClock();
  const file = createMortalLedger(clock);
  let runs = 0;
  const put: AnyTool = defineTool({
    name: 'put',
    mode: 'destructive',
    idempotent: true,
    input: amount,
    run: () => (++runs === 1 ? new Promise(() => undefined) : 'put'),
  });
  const start = (): { readonly runtime: Runtime; readonly kill: () => void } => {
    const { ledger, kill } = file.open();
    return { runtime: createRuntime({ clock, ledger, tools: [put] }), kill };
  };
  const first = start();
  void first.runtime.turn({ sessionId: 's' }).call(envelope('c', 'put', { amount: 1 }));
  await edit(first.runtime);
  for (let round = 0; round < 5; round++) await quiet();
  expect(runs).toBe(1);
  first.kill();
  const told = await start()
    .runtime.turn({ sessionId: 's' })
    .call(envelope('c', 'put', { amount: 1 }));
  expect(told).toMatchObject({
    type: 'ToolExecutionResult',
    modelNote: 'A person changed the arguments before the call ran.',
  });
});

describe('a final result after a kill withdraws the other question of its turn', () => {
  const tools: readonly AnyTool[] = [
    defineTool({
      name: 'finish',
      mode: 'destructive',
      run: () => toolResult({ success: true, terminal: true }),
    }),
    defineTool({ name: 'wipe', mode: 'destructive', run: () => 'wiped' }),
  ];
  const withdrawn = {
    type: 'ToolDenied',
    reason: 'ended',
    details: 'The turn has ended with the final result of another tool.',
  };
  const wipe = (runtime: Runtime): Promise<ToolOutcome> =>
    runtime.turn({ sessionId: 's' }).call(envelope('wipe', 'wipe'));

  type Process = { readonly runtime: Runtime; readonly kill: () => void };

  /** Two held calls of a turn whose process is gone. */
  async function setScene(): Promise<() => Process> {
    const clock = createManualClock();
    const file = createMortalLedger(clock);
    const start = (): Process => {
      const { ledger, kill } = file.open();
      return { runtime: createRuntime({ clock, ledger, tools }), kill };
    };
    const { runtime, kill } = start();
    const turn = runtime.turn({ sessionId: 's' });
    for (const { name } of tools) await turn.call(envelope(name, name), { ifHeld: 'return' });
    kill();
    return start;
  }

  async function finish(runtime: Runtime): Promise<void> {
    const open = await question(runtime, 'finish');
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    await runtime.turn({ sessionId: 's' }).call(envelope('finish', 'finish'));
  }

  it('if a caller waits for it', async () => {
    const { runtime } = (await setScene())();
    const told = wipe(runtime);
    await finish(runtime);
    expect(await told).toMatchObject(withdrawn);
  });

  it('if no caller waits for it', async () => {
    const { runtime } = (await setScene())();
    await runtime.recover();
    await finish(runtime);
    expect(await openQuestions(runtime)).toEqual([]);
    expect(await wipe(runtime)).toMatchObject(withdrawn);
  });

  it('if a later process recovers it', async () => {
    const start = await setScene();
    const second = start();
    await finish(second.runtime);
    second.kill();
    const { runtime } = start();
    await runtime.recover();
    expect(await openQuestions(runtime)).toEqual([]);
  });

  it('if a caller asks a later process', async () => {
    const start = await setScene();
    const second = start();
    await finish(second.runtime);
    second.kill();
    expect(await wipe(start().runtime)).toMatchObject(withdrawn);
  });
});
