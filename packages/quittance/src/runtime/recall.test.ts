import { createRuntime, defineTool, ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { createMortalLedger } from '../../../../test/mortal-ledger.ts';
import { no, question } from '../../../../test/people/question.ts';
import {
  auditKinds,
  deferred,
  envelope,
  eventsOf,
  eventTypes,
  expectSettledOnce,
  quiet,
  setStage,
} from '../../../../test/stage.ts';
import { alterLedger, type LedgerChanges } from '../../../../test/alter-ledger.ts';
import type { OpenLedger } from 'quittance/store';

const once = ['tool.requested', 'tool.decided', 'tool.started', 'tool.responded'];

describe('a repeated call', () => {
  it('is answered from its record once settled, and each repeat leaves one cached record', async () => {
    let runs = 0;
    const { clock, runtime, turn } = setStage({
      tools: [defineTool({ name: 'pay', run: () => ({ n: ++runs }) })],
    });
    const first = await turn.call(envelope('c', 'pay', { to: 'ada', cents: 5 }));
    clock.advance(60_000);
    const second = await turn.call(envelope('c', 'pay', { cents: 5, to: 'ada' }));
    const third = await turn.call(envelope('c', 'pay', '{"to":"ada","cents":5}'));
    expect([second, third]).toEqual([first, first]);
    expect(runs).toBe(1);
    expect(await eventTypes(runtime, 'c')).toEqual([...once, 'tool.recalled', 'tool.recalled']);
    expect(await auditKinds(runtime, 'c')).toEqual(['completed', 'cached', 'cached']);
    expect(
      (await eventsOf(runtime, 'tool.recalled')).map(({ how, fromCallId }) => [how, fromCallId]),
    ).toEqual([
      ['cached', 'c'],
      ['cached', 'c'],
    ]);
    await expectSettledOnce(runtime);
  });

  it('is answered in another turn, in an ended turn and after the deadline too', async () => {
    const { clock, runtime, turn } = setStage({ tools: [defineTool({ name: 'pay', run: () => 'paid' })] });
    const first = await turn.call(envelope('c', 'pay'));
    await turn.end();
    const short = runtime.turn({ sessionId: 's', timeoutMs: 10 });
    clock.advance(10);
    expect(await turn.call(envelope('c', 'pay'))).toEqual(first);
    expect(await short.call(envelope('c', 'pay'))).toEqual(first);
    expect(await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay'))).toEqual(first);
  });

  it('is a different call in another session', async () => {
    let runs = 0;
    const { runtime, turn } = setStage({ tools: [defineTool({ name: 'pay', run: () => ++runs })] });
    await turn.call(envelope('c', 'pay'));
    await runtime.turn({ sessionId: 'other' }).call(envelope('c', 'pay'));
    expect(runs).toBe(2);
  });

  it('does not confuse two pairs of session and id that concatenate to the same text', async () => {
    let runs = 0;
    const body = deferred();
    const { runtime } = setStage({
      tools: [
        defineTool({
          name: 'pay',
          run: async () => {
            runs++;
            await body.promise;
          },
        }),
      ],
    });
    const asked = [
      runtime.turn({ sessionId: 'a' }).call(envelope('b:c', 'pay')),
      runtime.turn({ sessionId: 'a:b' }).call(envelope('c', 'pay')),
      runtime.turn({ sessionId: 'ab' }).call(envelope(':c', 'pay')),
    ];
    await quiet();
    body.resolve();
    await Promise.all(asked);
    expect(runs).toBe(3);
  });

  it('joins the running one and leaves no record', async () => {
    let runs = 0;
    const body = deferred<string>();
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'pay',
          run: () => {
            runs++;
            return body.promise;
          },
        }),
      ],
    });
    const asked = [
      turn.call(envelope('c', 'pay')),
      runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay')),
    ];
    await quiet();
    asked.push(turn.call(envelope('c', 'pay')));
    body.resolve('paid');
    const [first, ...others] = await Promise.all(asked);
    expect(others).toEqual([first, first]);
    expect([runs, await eventTypes(runtime, 'c')]).toEqual([1, once]);
  });

  it('joins the one that another runtime on the same ledger is running', async () => {
    let runs = 0;
    const body = deferred<string>();
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const tool = defineTool({
      name: 'pay',
      run: () => {
        runs++;
        return body.promise;
      },
    });
    const turns = [1, 2].map(() => createRuntime({ ledger, clock, tools: [tool] }).turn({ sessionId: 's' }));
    const first = turns[0]?.call(envelope('c', 'pay'));
    await quiet();
    const second = turns[1]?.call(envelope('c', 'pay'));
    await quiet();
    body.resolve('paid');
    expect(await second).toEqual(await first);
    expect(runs).toBe(1);
  });

  it('joins the one that a closing runtime on the same ledger still runs, after another call of that runtime has ended', async () => {
    const ran: string[] = [];
    const ends = { a: deferred<string>(), c: deferred<string>() };
    const clock = createManualClock();
    const ledger = createMemoryLedger({ clock });
    const tool = defineTool({
      name: 'pay',
      mode: 'external',
      idempotent: true,
      run: (_, { callId }) => {
        ran.push(callId);
        return ends[callId as keyof typeof ends].promise;
      },
    });
    const [closing, open] = [1, 2].map(() => createRuntime({ ledger, clock, tools: [tool] }));
    const turn = closing?.turn({ sessionId: 's' });
    const first = [turn?.call(envelope('a', 'pay', { n: 1 })), turn?.call(envelope('c', 'pay'))];
    await quiet();
    const closed = closing?.close();
    ends.a.resolve('paid');
    await first[0];
    await quiet();
    const second = open?.turn({ sessionId: 's' }).call(envelope('c', 'pay'));
    await quiet();
    ends.c.resolve('paid');
    expect(await second).toEqual(await first[1]);
    expect(ran).toEqual(['a', 'c']);
    await closed;
  });

  it.each<[maker: string, owners: LedgerChanges]>([
    ['this process', {}],
    [
      'another process',
      { ownerId: 'own_other', runtimes: new Set(), statusOf: async () => 'alive' as const },
    ],
  ])(
    'a repeated call of %s does not poll for ever if the call was removed as soon as it ended',
    async (_, owners) => {
      const body = deferred<string>();
      const clock = createManualClock();
      const ledger = createMemoryLedger({ clock });
      const tool = defineTool({ name: 'pay', run: () => body.promise });
      let looks = 0;
      const quick = alterLedger(ledger, {
        ...owners,
        readCall(...call) {
          // A busy loop would also block the time limit of this test.
          if (++looks > 1_000) throw new Error('It is looked for without end.');
          return ledger.readCall(...call);
        },
        async whenChanged(...call) {
          await ledger.whenChanged(...call);
          await quiet();
          await ledger.dropSession({ sessionId: 's', by: 'ada', reason: 'Over.' });
        },
      });
      const [maker, joiner] = [ledger, quick].map((each) =>
        createRuntime({ ledger: each, clock, tools: [tool] }).turn({ sessionId: 's' }),
      );
      const first = maker?.call(envelope('c', 'pay'));
      await quiet();
      const second = joiner?.call(envelope('c', 'pay'));
      await quiet();
      body.resolve('paid');
      expect(await first).toMatchObject({ output: 'paid' });
      expect(await second).toMatchObject({ code: 'tool.indeterminate', retryable: false });
    },
  );

  it('is answered even if its tool no longer exists', async () => {
    const ledger = createMemoryLedger();
    const before = createRuntime({ ledger, tools: [defineTool({ name: 'pay', run: () => 'paid' })] });
    const first = await before.turn({ sessionId: 's' }).call(envelope('c', 'pay'));
    const after = createRuntime({ ledger, tools: [] });
    expect(await after.turn({ sessionId: 's' }).call(envelope('c', 'pay'))).toEqual(first);
  });
});

describe('a call whose id belongs to another call', () => {
  it('gets a conflict, and the other call keeps its outcome', async () => {
    const { runtime, turn } = setStage({
      tools: [
        defineTool({ name: 'pay', run: () => 'paid' }),
        defineTool({ name: 'get_it', run: () => 'got' }),
      ],
    });
    const first = await turn.call(envelope('c', 'pay', { to: 'ada' }));
    const otherTool = await turn.call(envelope('c', 'get_it', { to: 'ada' }));
    const otherArguments = await turn.call(envelope('c', 'pay', { to: 'bob' }));
    const unknownTool = await turn.call(envelope('c', 'nope', { to: 'ada' }));
    const noArguments = await turn.call(envelope('c', 'pay', 'not json'));
    for (const conflict of [otherTool, otherArguments, unknownTool, noArguments])
      expect(conflict).toMatchObject({
        type: 'ToolDenied',
        reason: 'conflict',
        code: 'call.conflict',
        details: expect.stringMatching(/^Nothing ran: .* Make the call again as a new call\.$/) as string,
        callId: 'c',
      });
    expect(otherTool).toMatchObject({
      toolName: 'get_it',
      details: expect.stringContaining('"pay"') as string,
    });
    expect(await turn.call(envelope('c', 'pay', { to: 'ada' }))).toEqual(first);
    const recalled = await eventsOf(runtime, 'tool.recalled');
    expect(recalled.map(({ how }) => how)).toEqual([
      'conflict',
      'conflict',
      'conflict',
      'conflict',
      'cached',
    ]);
    expect(await auditKinds(runtime, 'c')).toEqual(['completed', 'cached']);
    expect(await eventsOf(runtime, 'tool.requested')).toHaveLength(1);
    await expectSettledOnce(runtime);
  });

  it('gets a conflict while the other call is still running, and does not run', async () => {
    const body = deferred<string>();
    const ran: unknown[] = [];
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'pay',
          run: (args) => {
            ran.push(args);
            return body.promise;
          },
        }),
      ],
    });
    const first = turn.call(envelope('c', 'pay', { to: 'ada' }));
    const other = turn.call(envelope('c', 'pay', { to: 'bob' }));
    expect(await other).toMatchObject({ reason: 'conflict' });
    body.resolve('paid');
    expect(await first).toMatchObject({ output: 'paid' });
    expect(ran).toEqual([{ to: 'ada' }]);
    expect(await eventTypes(runtime, 'c')).toContain('tool.recalled');
    await expectSettledOnce(runtime);
  });

  it('gets a conflict when the two differ only in a hidden value', async () => {
    const { turn } = setStage({ tools: [defineTool({ name: 'login', run: () => 'in' })] });
    await turn.call(envelope('c', 'login', { password: 'first-one' }));
    expect(await turn.call(envelope('c', 'login', { password: 'other-one' }))).toMatchObject({
      reason: 'conflict',
    });
    expect(await turn.call(envelope('c', 'login', { password: 'first-one' }))).toMatchObject({
      output: 'in',
    });
  });

  it('gets a conflict when the first was held for a person', async () => {
    const answer = deferred<{ decision: 'approve'; by: string }>();
    const { turn } = setStage({
      tools: [defineTool({ name: 'delete_it', run: ({ n }) => n })],
      onConfirm: () => answer.promise,
    });
    const first = turn.call(envelope('c', 'delete_it', { n: 1 }));
    await quiet();
    expect(await turn.call(envelope('c', 'delete_it', { n: 2 }))).toMatchObject({ reason: 'conflict' });
    answer.resolve({ decision: 'approve', by: 'ada' });
    expect(await first).toMatchObject({ output: 1 });
  });

  it.each(['running', 'held'] as const)(
    'gets a conflict each time while another process has that call %s',
    async (status) => {
      const clock = createManualClock();
      const inner = createMemoryLedger({ clock });
      const ran: unknown[] = [];
      const body = deferred<string>();
      const answer = deferred<{ decision: 'approve'; by: string }>();
      const name = status === 'held' ? 'delete_it' : 'pay';
      const start = (ledger: OpenLedger) =>
        createRuntime({
          clock,
          ledger,
          tools: [
            defineTool({
              name,
              run: (args) => {
                ran.push(args);
                return body.promise;
              },
            }),
          ],
          onConfirm: () => answer.promise,
        });
      const elsewhere = start(inner);
      // Another owner, which sees that the first one lives.
      const here = start(
        alterLedger(inner, {
          ownerId: 'own_here',
          runtimes: new Set(),
          statusOf: async () => 'alive' as const,
        }),
      );
      const first = elsewhere.turn({ sessionId: 's' }).call(envelope('c', name, { to: 'ada' }));
      await quiet();
      const other = () =>
        here.turn({ sessionId: 's', timeoutMs: 1_000 }).call(envelope('c', name, { to: 'bob' }));
      for (let asked = 1; asked <= 3; asked++) {
        const reply = other();
        await quiet();
        clock.advance(1_000); // a waiting call times out
        expect(await reply).toMatchObject({ reason: 'conflict' });
      }
      answer.resolve({ decision: 'approve', by: 'ada' });
      body.resolve('done');
      expect(await first).toMatchObject({ output: 'done' });
      expect(ran).toEqual([{ to: 'ada' }]);
      await expectSettledOnce(here);
    },
  );

  it('gets a conflict if that call was made, held and denied while this one passed its gates', async () => {
    const clock = createManualClock();
    const file = createMortalLedger(clock);
    const tools = [defineTool({ name: 'delete_it', run: ({ n }) => n })];
    const gate = deferred();
    const here = createRuntime({
      clock,
      ledger: file.open().ledger,
      tools,
      onPreToolUse: async () => {
        await gate.promise;
        return ToolDecision.allow;
      },
    });
    const reply = here.turn({ sessionId: 's' }).call(envelope('c', 'delete_it', { n: 2 }));
    await quiet();
    // It is slow to end the call that a person denied.
    const ends = deferred();
    const { ledger } = file.open();
    const slow = alterLedger(ledger, {
      append: async (entry) => {
        if (entry.events.some(({ type }) => type === 'tool.responded')) await ends.promise;
        return ledger.append(entry);
      },
    });
    const elsewhere = createRuntime({ clock, ledger: slow, tools });
    const first = elsewhere.turn({ sessionId: 's' }).call(envelope('c', 'delete_it', { n: 1 }));
    const { confirmationId } = await question(elsewhere);
    await elsewhere.confirmations.decide(confirmationId, no());
    gate.resolve();
    expect(await reply).toMatchObject({ reason: 'conflict' });
    ends.resolve();
    expect(await first).toMatchObject({ code: 'confirmation.rejected' });
    await expectSettledOnce(here);
  });
});
