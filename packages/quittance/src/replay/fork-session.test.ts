import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, jsonSchema, ToolError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { beforeEach, describe, expect, test } from 'vitest';
import { envelope } from '../../../../test/stage.ts';
import { forkSession } from './fork-session.ts';

let ledger: OpenLedger;
let ran: string[];
let broken: boolean;

const tools = [
  defineTool({
    name: 'pay',
    mode: 'external',
    run: (args) => {
      ran.push(`pay ${JSON.stringify(args)}`);
      return { paid: args };
    },
  }),
  defineTool({
    name: 'ship',
    mode: 'external',
    run: () => {
      ran.push('ship');
      if (broken) throw new ToolError('tool.network_error', 'no line', { retryable: true });
      return { shipped: true };
    },
  }),
  defineTool({ name: 'tell', mode: 'external', run: () => ran.push('tell') }),
];

/** The program: pay, ship, tell. */
async function drive(
  runtime: ReturnType<typeof createRuntime>,
  turn: { sessionId: string; parentSessionId?: string },
  prefix = '',
): Promise<readonly unknown[]> {
  const opened = runtime.turn(turn);
  return [
    await opened.call(envelope(`${prefix}pay`, 'pay', { n: 1 })),
    await opened.call(envelope(`${prefix}ship`, 'ship')),
    await opened.call(envelope(`${prefix}tell`, 'tell')),
  ];
}

beforeEach(async () => {
  [ledger, ran, broken] = [createMemoryLedger(), [], true];
  await drive(createRuntime({ tools, ledger }), { sessionId: 'old' });
  [ran, broken] = [[], false];
});

describe('a fork', () => {
  test('records its origin in the first event of its session', async () => {
    await forkSession(ledger, { from: 'old', at: 'ship', as: 'new', after: 'dry', tools });
    expect(await ledger.readSession('new')).toMatchObject([
      {
        type: 'session.forked',
        sessionId: 'new',
        fromSessionId: 'old',
        atCallId: 'ship',
        position: 1,
        after: 'dry',
        cause: undefined,
      },
    ]);
    await forkSession(ledger, { from: 'old', at: 3, as: 'end', after: 'live', tools });
    expect(await ledger.readSession('end')).toMatchObject([{ atCallId: undefined, position: 3 }]);
  });

  test('a fork that has done nothing can be started again in the same way, and in no other', async () => {
    const fork = { from: 'old', at: 'ship', as: 'new', after: 'dry', tools } as const;
    await forkSession(ledger, fork);
    await forkSession(ledger, fork);
    expect(await ledger.readSession('new')).toHaveLength(1);
    await expect(forkSession(ledger, { ...fork, after: 'live' })).rejects.toThrow('already exists');
    await expect(forkSession(ledger, { ...fork, at: 0 })).rejects.toThrow('already exists');
  });

  test('a fork at a failed call serves the earlier calls and resumes there', async () => {
    const fork = await forkSession(ledger, { from: 'old', at: 'ship', as: 'new', after: 'live', tools });
    expect(fork.forked).toEqual({ fromSessionId: 'old', atCallId: 'ship', position: 1, after: 'live' });
    const { sessionId, parentSessionId } = fork;
    const outcomes = await drive(createRuntime({ tools: fork.tools, ledger }), {
      sessionId,
      parentSessionId,
    });
    expect(outcomes).toMatchObject([{ output: { paid: { n: 1 } } }, { output: { shipped: true } }, {}]);
    expect(ran).toEqual(['ship', 'tell']);
    expect(fork.report()).toEqual({ played: 1, unused: [], missed: [] });
  });

  test('serves calls with new ids by their tool and input', async () => {
    const fork = await forkSession(ledger, { from: 'old', at: 1, as: 'new', after: 'live', tools });
    await drive(createRuntime({ tools: fork.tools, ledger }), { sessionId: 'new' }, 'other-');
    expect(ran).toEqual(['ship', 'tell']);
  });

  test('runs nothing before the whole record has been served', async () => {
    const fork = await forkSession(ledger, { from: 'old', at: 'tell', as: 'new', after: 'live', tools });
    const turn = createRuntime({ tools: fork.tools, ledger }).turn({ sessionId: 'new' });
    expect(await turn.call(envelope('tell', 'tell'))).toMatchObject({ code: 'tool.fixture_missing' });
    expect(await turn.call(envelope('pay', 'pay', { n: 2 }))).toMatchObject({ code: 'tool.fixture_missing' });
    expect(ran).toEqual([]);
  });

  test('does not affect other sessions of the same runtime', async () => {
    const fork = await forkSession(ledger, { from: 'old', at: 'ship', as: 'new', after: 'live', tools });
    const runtime = createRuntime({ tools: fork.tools, ledger });
    await runtime.turn({ sessionId: 'another' }).call(envelope('pay', 'pay', { n: 1 }));
    expect(ran).toEqual(['pay {"n":1}']);
    await drive(runtime, { sessionId: 'new' });
    expect(ran).toEqual(['pay {"n":1}', 'ship', 'tell']);
  });

  test('plays the rest of the record if requested', async () => {
    const fork = await forkSession(ledger, { from: 'old', at: 'ship', as: 'new', after: 'recorded', tools });
    const outcomes = await drive(createRuntime({ tools: fork.tools, ledger }), { sessionId: 'new' });
    expect(outcomes).toMatchObject([{}, { code: 'tool.network_error', error: 'no line' }, { output: 3 }]);
    expect(ran).toEqual([]);
  });

  test('a fork that is dry runs nothing, and lists what it would have run', async () => {
    const fork = await forkSession(ledger, { from: 'old', at: 'ship', as: 'new', after: 'dry', tools });
    const outcomes = await drive(createRuntime({ tools: fork.tools, ledger }), { sessionId: 'new' });
    expect(outcomes).toMatchObject([
      { type: 'ToolExecutionResult' },
      { code: 'tool.fixture_missing', payloadExtras: { why: 'dry', would_run: { toolName: 'ship' } } },
      { code: 'tool.fixture_missing' },
    ]);
    expect(ran).toEqual([]);
  });

  test('judges live calls independently of the recording', async () => {
    let answers = 0;
    const ask = defineTool({
      name: 'ask',
      mode: 'read',
      output: jsonSchema<unknown>({ type: 'object', required: ['answer'] }),
      run: async () => {
        await Promise.resolve();
        answers++;
        return answers === 1 ? { error: 'ask again' } : answers === 2 ? { answer: 2 } : { wrong: true };
      },
    });
    const call = (
      runtime: ReturnType<typeof createRuntime>,
      sessionId: string,
      n: number,
    ): Promise<unknown> => runtime.turn({ sessionId }).call(envelope(`c${n}`, 'ask', { n }));
    await call(createRuntime({ tools: [ask], ledger }), 'asked', 1);
    const fork = await forkSession(ledger, { from: 'asked', at: 1, as: 'new', after: 'live', tools: [ask] });
    const runtime = createRuntime({ tools: fork.tools, ledger });
    expect(await call(runtime, 'new', 1)).toMatchObject({ code: 'tool.reported_error', error: 'ask again' });
    expect(await call(runtime, 'new', 2)).toMatchObject({ output: { answer: 2 } });
    expect(await call(runtime, 'new', 3)).toMatchObject({ code: 'tool.invalid_output' });
  });

  test.each(['dry', 'live'] as const)(
    'a fork into the same session at the same time succeeds for one caller, whatever the other wants (%s)',
    async (after) => {
      const forks = await Promise.allSettled([
        forkSession(ledger, { from: 'old', at: 'ship', as: 'new', after: 'dry', tools }),
        forkSession(ledger, { from: 'old', at: 'ship', as: 'new', after, tools }),
      ]);
      expect(forks).toMatchObject([
        { status: 'fulfilled' },
        {
          status: 'rejected',
          reason: {
            code: 'config.invalid',
            message: expect.stringMatching(/Another caller forked session "new"/),
          },
        },
      ]);
      expect(await ledger.readSession('new')).toHaveLength(1);
    },
  );

  test('can be made again once its session was dropped', async () => {
    const fork = { from: 'old', at: 'ship', as: 'new', after: 'dry', tools } as const;
    await forkSession(ledger, fork);
    await ledger.dropSession({ sessionId: 'new', by: 'Ada', reason: 'enough' });
    await forkSession(ledger, { ...fork, after: 'live' });
    expect(await ledger.readSession('new')).toMatchObject([{ type: 'session.forked', after: 'live' }]);
  });

  test.each([
    [{ from: 'nowhere', at: 0 }, /has 0 calls/],
    [{ from: 'old', at: 'no' }, /has no call "no"/],
    [{ from: 'old', at: 4 }, /cannot be forked at 4/],
    [{ from: 'old', at: 1, as: 'old' }, /already exists/],
  ])('refuses %j', async (asked, says) => {
    await expect(forkSession(ledger, { as: 'new', after: 'dry', tools, ...asked })).rejects.toThrow(says);
  });
});
