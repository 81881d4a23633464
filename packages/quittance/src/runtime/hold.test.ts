import type { AnyTool, ToolMode } from 'quittance';
import type { ConfirmationAnswer, ConfirmationRequest, OnConfirm } from 'quittance/runtime';
import { createRuntime, defineTool, ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { describe, expect, it } from 'vitest';
import { question } from '../../../../test/people/question.ts';
import { eventually } from '../../../../test/eventually.ts';
import { z } from 'zod';
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
import { alterLedger } from '../../../../test/alter-ledger.ts';

type Traits = { readonly mode: ToolMode; readonly idempotent?: boolean };

const yes: ConfirmationAnswer = { decision: 'approve', by: 'ada' };

function destructive(onConfirm?: OnConfirm) {
  const ran: unknown[] = [];
  const stage = setStage({
    tools: [
      defineTool({
        name: 'delete_row',
        displayName: 'Delete a row',
        input: z.object({ n: z.number() }),
        run: (args) => (ran.push(args), 'gone'),
      }),
    ],
    ...(onConfirm && { onConfirm }),
  });
  return { ...stage, ran };
}

describe('a mode', () => {
  it('needs an approval if it is destructive or runs on the system, and runs otherwise', async () => {
    const asked: string[] = [];
    const { turn } = setStage({
      tools: ['get_it', 'set_it', 'delete_it', 'shell_it', 'whatever'].map((name) =>
        defineTool({ name, run: () => name }),
      ),
      onConfirm: ({ toolName }) => {
        asked.push(toolName);
        return yes;
      },
    });
    await turn.callAll(
      ['get_it', 'set_it', 'delete_it', 'shell_it', 'whatever'].map((name) => envelope(name, name)),
    );
    expect(asked).toEqual(['delete_it', 'shell_it']);
  });

  it('can be treated differently by the host', async () => {
    const asked: string[] = [];
    const { turn } = setStage({
      tools: ['get_it', 'delete_it'].map((name) => defineTool({ name, run: () => name })),
      treatments: { read: 'ask', destructive: 'run' },
      onConfirm: ({ toolName }) => {
        asked.push(toolName);
        return yes;
      },
    });
    await turn.callAll(['get_it', 'delete_it'].map((name) => envelope(name, name)));
    expect(asked).toEqual(['get_it']);
  });

  it('a mode that needs an approval waits in the ledger if the host has no decider', async () => {
    const { runtime, turn, ran } = destructive();
    const asked = turn.call(envelope('c', 'delete_row', { n: 1 }));
    await quiet();
    const { rows } = await runtime.confirmations.list({ status: 'pending' });
    const [held] = rows;
    expect(rows).toHaveLength(1);
    expect(held).toMatchObject({ callId: 'c', toolName: 'delete_row', effectiveInput: { n: 1 } });
    expect(ran).toEqual([]);
    await runtime.confirmations.decide(held?.confirmationId ?? '', {
      decision: 'approve',
      by: 'ada',
      inputDigest: held?.inputDigest ?? '',
    });
    expect(await asked).toMatchObject({ type: 'ToolExecutionResult' });
    expect(ran).toHaveLength(1);
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'completed']);
  });
});

it.each<[traits: Traits, risk: string[]]>([
  [{ mode: 'read' }, []],
  [{ mode: 'read', idempotent: true }, []],
  [{ mode: 'safe_write' }, ['cannot be repeated safely']],
  [{ mode: 'safe_write', idempotent: true }, []],
  [{ mode: 'destructive', idempotent: true }, ['destructive']],
  [{ mode: 'local' }, ['touches this machine', 'cannot be repeated safely']],
  [{ mode: 'external', idempotent: true }, ['reaches outside']],
])('a question about a tool with %j names as its risks %j', async (traits, risk) => {
  const { runtime, turn } = setStage({
    tools: [defineTool({ name: 'work', ...traits, run: () => 1 })],
    onPreToolUse: () => ToolDecision.requiresConfirmation('Look first.'),
  });
  turn.submit(envelope('c', 'work'));
  expect(await question(runtime)).toMatchObject({ risk });
});

describe('a held call', () => {
  it('is stored first, then shown to the person with all facts, then run after the approval', async () => {
    const requests: ConfirmationRequest[] = [];
    let held: readonly string[] = [];
    const { runtime, ran } = destructive(async (request) => {
      requests.push(request);
      held = await eventTypes(runtime, 'c');
      return { decision: 'approve', by: 'ada', reason: 'it is old' };
    });
    const turn = runtime.turn({ sessionId: 's', turnId: 't', principal: { userId: 'bob' } });
    const outcome = await turn.call(envelope('c', 'delete_row', { n: '1' }));
    expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: 'gone' });
    expect(held).toEqual(['tool.requested', 'tool.decided', 'tool.held']);
    expect(requests).toEqual([
      {
        confirmationId: expect.stringMatching(/^cnf_\w{20,}/) as string,
        sessionId: 's',
        turnId: 't',
        callId: 'c',
        toolName: 'delete_row',
        displayName: 'Delete a row',
        mode: 'destructive',
        arguments: { n: 1 },
        inputForm: 'json',
        accepted: { n: 1 },
        artifacts: [],
        inputDigest: expect.stringMatching(/^sha256:/) as string,
        description: '"Delete a row" is a destructive tool.',
        asks: [{ by: { type: 'gate', name: 'mode' }, description: '"Delete a row" is a destructive tool.' }],
        votes: [],
        missing: [{ ruleId: 'mode', who: 'any approver', missing: 1, quorum: 1 }],
        principal: { userId: 'bob' },
      },
    ]);
    expect(ran).toEqual([{ n: 1 }]);
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'completed']);
    expect(await eventsOf(runtime, 'confirmation.decided')).toMatchObject([
      {
        decision: 'approve',
        by: { type: 'person', name: 'ada' },
        reason: 'it is old',
        confirmationId: requests[0]?.confirmationId,
      },
    ]);
    const completed = (await runtime.calls.audit({ sessionId: 's', callId: 'c' })).at(-1);
    expect(completed?.decidedBy).toEqual({
      type: 'person',
      name: 'ada',
      identity: { kind: 'self_asserted' },
      asker: 'other',
    });
    await expectSettledOnce(runtime);
  });

  it('is denied when the person denies it, in their words', async () => {
    const { runtime, turn, ran } = destructive(() => ({
      decision: 'deny',
      by: 'ada',
      reason: 'not on a Sunday',
    }));
    expect(await turn.call(envelope('c', 'delete_row', { n: 1 }))).toMatchObject({
      type: 'ToolDenied',
      reason: 'write_denied',
      code: 'confirmation.rejected',
      details: 'Denied by ada: not on a Sunday',
    });
    expect(ran).toEqual([]);
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'blocked']);
    await expectSettledOnce(runtime);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['true', true],
    ['"approve"', 'approve'],
    ['an approval without a name', { decision: 'approve' }],
    ['an approval by an empty name', { decision: 'approve', by: '  ' }],
    ['an approval by a number', { decision: 'approve', by: 7 }],
    ['another word', { decision: 'yes', by: 'ada' }],
    ['an array', ['approve']],
    ['a denial without a name', { decision: 'deny' }],
  ])('is denied when the answer is %s', async (_, answer) => {
    const { runtime, turn, ran } = destructive((() => answer) as OnConfirm);
    expect(await turn.call(envelope('c', 'delete_row', { n: 1 }))).toMatchObject({ reason: 'write_denied' });
    expect(ran).toEqual([]);
    await expectSettledOnce(runtime);
  });

  it.each<[string, OnConfirm]>([
    [
      'throws',
      () => {
        throw new Error('no screen');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no screen'))],
    [
      'gives an answer that throws when read',
      () => ({
        get decision(): never {
          throw new Error('no screen');
        },
        by: 'ada',
      }),
    ],
  ])('is denied when asking %s', async (_, onConfirm) => {
    const { runtime, turn, ran } = destructive(onConfirm);
    expect(await turn.call(envelope('c', 'delete_row', { n: 1 }))).toMatchObject({
      reason: 'write_denied',
      details: 'It was not approved: the decision could not be used.',
    });
    expect(JSON.stringify(await eventsOf(runtime, 'tool.responded'))).toContain('onConfirm threw: no screen');
    expect(ran).toEqual([]);
  });

  it('never mixes with another call of the same tool: each decision counts for its own call', async () => {
    const answers = new Map<string, PromiseWithResolvers<ConfirmationAnswer>>();
    const { runtime, turn, ran } = destructive(({ callId }) => {
      const answer = deferred<ConfirmationAnswer>();
      answers.set(callId, answer);
      return answer.promise;
    });
    const asked = ['a', 'b', 'c', 'd'].map((id, n) => turn.call(envelope(id, 'delete_row', { n })));
    await quiet();
    answers.get('c')?.resolve(yes);
    answers.get('a')?.resolve({ decision: 'deny', by: 'bob' });
    await quiet();
    expect(ran).toEqual([{ n: 2 }]);
    answers.get('d')?.resolve(yes);
    answers.get('b')?.resolve({ decision: 'deny', by: 'bob' });
    const outcomes = await Promise.all(asked);
    expect(outcomes.map(({ type }) => type)).toEqual([
      'ToolDenied',
      'ToolDenied',
      'ToolExecutionResult',
      'ToolExecutionResult',
    ]);
    expect(ran).toEqual([{ n: 2 }, { n: 3 }]);
    const held = await eventsOf(runtime, 'tool.held');
    expect(new Set(held.map(({ confirmationId }) => confirmationId))).toHaveProperty('size', 4);
    await expectSettledOnce(runtime);
  });

  it('is asked about once, however many callers join it, and every caller gets the one outcome', async () => {
    let questions = 0;
    const answer = deferred<ConfirmationAnswer>();
    const { turn, ran } = destructive(() => {
      questions++;
      return answer.promise;
    });
    const asked = Array.from({ length: 5 }, () => turn.call(envelope('c', 'delete_row', { n: 1 })));
    await quiet();
    asked.push(turn.call(envelope('c', 'delete_row', { n: 1 })));
    answer.resolve(yes);
    expect(new Set(await Promise.all(asked))).toHaveProperty('size', 1);
    expect([questions, ran.length]).toEqual([1, 1]);
  });

  it('ends as cancelled when it is cancelled, and a later approval runs nothing', async () => {
    const answer = deferred<ConfirmationAnswer>();
    const { runtime, turn, ran } = destructive(() => answer.promise);
    const asked = turn.call(envelope('c', 'delete_row', { n: 1 }));
    await quiet();
    expect(turn.cancel('c', 'changed my mind')).toBe(true);
    expect(await asked).toMatchObject({ type: 'ToolFailure', code: 'tool.cancelled' });
    answer.resolve(yes);
    await quiet();
    expect(ran).toEqual([]);
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'invalidated']);
    await expectSettledOnce(runtime);
  });
});

describe('after an approval', () => {
  it('hooks are asked again, and one that now blocks wins', async () => {
    let sunday = false;
    const { runtime, turn } = setStage({
      tools: [defineTool({ name: 'delete_it', run: () => 'gone' })],
      onPreToolUse: () => (sunday ? ToolDecision.block('it is Sunday now') : ToolDecision.allow),
      onConfirm: () => {
        sunday = true;
        return yes;
      },
    });
    expect(await turn.call(envelope('c', 'delete_it'))).toMatchObject({
      reason: 'pre_hook',
      details: 'it is Sunday now',
    });
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'blocked']);
    await expectSettledOnce(runtime);
  });

  it('the second ruling is recorded with its own checks', async () => {
    const { clock, runtime, turn } = setStage({
      tools: [defineTool({ name: 'delete_it', run: () => 'gone' })],
      onPreToolUse: async () => {
        await quiet();
        clock.advance(7);
        return ToolDecision.allow;
      },
      onConfirm: () => yes,
    });
    await turn.call(envelope('c', 'delete_it'));
    const decided = await eventsOf(runtime, 'tool.decided');
    expect(decided.map(({ decision }) => decision)).toEqual(['ask', 'allow']);
    for (const { gates } of decided)
      expect(gates.filter(({ gate }) => gate === 'policy')).toEqual([{ gate: 'policy', elapsedUs: 7_000 }]);
  });

  it('a call runs although the same call of an idempotent tool has run since: a person approved both', async () => {
    const ran: string[] = [];
    const { runtime, turn } = setStage({
      tools: [defineTool({ name: 'delete_it', idempotent: true, run: (_, { callId }) => ran.push(callId) })],
    });
    const asked = ['a', 'b'].map((id) => turn.call(envelope(id, 'delete_it')));
    for (const id of ['a', 'b']) {
      const { confirmationId, inputDigest } = await question(runtime, id);
      await runtime.confirmations.decide(confirmationId, { ...yes, inputDigest });
      await quiet();
    }
    expect(await Promise.all(asked)).toMatchObject([{ output: 1 }, { output: 2 }]);
    expect(ran).toEqual(['a', 'b']);
  });

  it('the body gets what was shown: the schema does not check JSON a second time', async () => {
    let reading = 'before';
    let checks = 0;
    const ran: unknown[] = [];
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'delete_it',
          input: z.object({
            n: z.number().transform((n) => {
              checks++;
              return `${n} ${reading}`;
            }),
          }),
          run: (args) => ran.push(args),
        }),
      ],
      onConfirm: () => {
        reading = 'after';
        return yes;
      },
    });
    await turn.call(envelope('c', 'delete_it', { n: 1 }));
    expect(ran).toEqual([{ n: '1 before' }]);
    expect(checks).toBe(1);
  });

  it('a new reason asks again; the answered one does not', async () => {
    let reasons = ['first'];
    const asked: string[] = [];
    const { runtime, turn } = setStage({
      tools: [defineTool({ name: 'pay', run: () => 'paid' })],
      onPreToolUse: () => ToolDecision.requiresConfirmation(reasons.join(' and ')),
      onConfirm: ({ description }) => {
        asked.push(description);
        reasons = ['first', 'second'];
        return yes;
      },
    });
    expect(await turn.call(envelope('c', 'pay'))).toMatchObject({ output: 'paid' });
    expect(asked).toEqual(['first', 'first and second']);
    expect(await auditKinds(runtime, 'c')).toEqual([
      'requires_confirmation',
      'requires_confirmation',
      'completed',
    ]);
    await expectSettledOnce(runtime);
  });

  it('the approved input runs: the body gets the input that was shown', async () => {
    const shown: unknown[] = [];
    const ran: unknown[] = [];
    const { turn } = setStage({
      tools: [
        defineTool({
          name: 'delete_it',
          input: z.object({ list: z.array(z.number()) }),
          run: (args) => ran.push(args),
        }),
      ],
      onConfirm: (request) => {
        shown.push(structuredClone(request.arguments));
        Reflect.set(request.arguments, 'list', [9]);
        return yes;
      },
    });
    await turn.call(envelope('c', 'delete_it', { list: [1, 2] }));
    expect([shown, ran]).toEqual([[{ list: [1, 2] }], [{ list: [1, 2] }]]);
  });
});

describe('the host’s decider', () => {
  it('may replace the arguments: they run, and count as approved', async () => {
    const { runtime, turn, ran } = destructive(() => ({
      decision: 'edit',
      by: 'ada',
      reason: 'that one',
      arguments: { n: 2 },
    }));
    const outcome = await turn.call(envelope('c', 'delete_row', { n: 1 }));
    expect(outcome).toMatchObject({
      type: 'ToolExecutionResult',
      modelNote: 'A person changed the arguments before the call ran.',
    });
    expect(ran).toEqual([{ n: 2 }]);
    const [decided] = await eventsOf(runtime, 'confirmation.decided');
    expect(decided).toMatchObject({
      decision: 'edit',
      by: { type: 'person', name: 'ada' },
      reason: 'that one',
      editedInput: { n: 2 },
    });
    await expectSettledOnce(runtime);
  });

  it('may answer the model instead: nothing runs', async () => {
    const { runtime, turn, ran } = destructive(() => ({
      decision: 'respond',
      by: 'ada',
      response: 'Ask me tomorrow.',
    }));
    expect(await turn.call(envelope('c', 'delete_row', { n: 1 }))).toMatchObject({
      type: 'ToolDenied',
      code: 'confirmation.answered',
      details: 'Ask me tomorrow.',
    });
    expect(ran).toEqual([]);
    await expectSettledOnce(runtime);
  });

  it.each([
    [{ decision: 'edit', by: 'ada', arguments: { n: 'two' } }, 'ada gave other arguments.'],
    [{ decision: 'edit', by: 'ada', arguments: [1] }, 'an edit needs arguments'],
    [{ decision: 'edit', by: ' ', arguments: { n: 2 } }, 'the decision has no name'],
    [{ decision: 'respond', by: 'ada', response: '' }, 'a response needs a text'],
    [{ decision: 'respond', response: 'x' }, 'the decision has no name'],
  ])('the host’s decider that returns an incomplete decision denies: %j', async (answer, why) => {
    const { runtime, turn, ran } = destructive(() => answer as unknown as ConfirmationAnswer);
    const outcome = await turn.call(envelope('c', 'delete_row', { n: 1 }));
    expect(outcome).toMatchObject({ type: 'ToolDenied', code: 'confirmation.rejected' });
    expect(outcome).toHaveProperty('details', expect.stringContaining('It was not approved: '));
    expect(JSON.stringify(await eventsOf(runtime, 'tool.responded'))).toContain(why);
    expect(ran).toEqual([]);
    await expectSettledOnce(runtime);
  });

  it.each([
    [{ decision: 'edit', by: 'ada', arguments: { n: 2 } }, 'ToolExecutionResult', [{ n: 2 }]],
    [{ decision: 'respond', by: 'ada', response: 'Ask me tomorrow.' }, 'ToolDenied', []],
  ] as const)('decides about the preview that it was shown: %j', async (answer, type, expected) => {
    const ran: unknown[] = [];
    const asked: unknown[] = [];
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'delete_row',
          preview: () => ({ kind: 'text', text: 'deletes one row' }),
          run: (args) => ran.push(args),
        }),
      ],
      onConfirm: ({ revision, arguments: shown }) => {
        asked.push([revision, shown]);
        return asked.length === 1 ? answer : yes;
      },
    });
    expect(await turn.call(envelope('c', 'delete_row', { n: 1 }))).toMatchObject({ type });
    expect(asked[0]).toEqual([1, { n: 1 }]);
    const [decided] = await eventsOf(runtime, 'confirmation.decided');
    expect(decided).toMatchObject({ decision: answer.decision, revision: 1 });
    expect(ran).toEqual(expected);
    await expectSettledOnce(runtime);
  });

  it('may edit a call whose schema changes values: they are changed once, and asked about once', async () => {
    const ran: unknown[] = [];
    let asked = 0;
    const { runtime, turn } = setStage({
      tools: [
        defineTool({
          name: 'delete_row',
          input: z.object({ n: z.number().transform((n) => n + 1) }),
          run: (args) => ran.push(args),
        }),
      ],
      onConfirm: () => {
        asked++;
        return { decision: 'edit', by: 'ada', arguments: { n: 5 } };
      },
    });
    await turn.call(envelope('c', 'delete_row', { n: 1 }));
    expect([ran, asked]).toEqual([[{ n: 6 }], 1]);
    const [decided] = await eventsOf(runtime, 'confirmation.decided');
    expect(decided).toMatchObject({ editedInput: { n: 6 }, editedAccepted: { n: 5 }, editedForm: 'json' });
  });

  it('cannot edit without the permission to decide', async () => {
    const ran: unknown[] = [];
    const { turn } = setStage({
      tools: [defineTool({ name: 'delete_row', run: (args) => ran.push(args) })],
      mayDecide: (_by, _view, decision) => decision === 'approve' || 'no edits here',
      onConfirm: () => ({ decision: 'edit', by: 'ada', arguments: { n: 2 } }),
    });
    expect(await turn.call(envelope('c', 'delete_row', { n: 1 }))).toMatchObject({
      type: 'ToolDenied',
      details: expect.stringContaining('ada may not edit this: no edits here.'),
    });
    expect(ran).toEqual([]);
  });
});

describe('a runtime that is closed while calls are held', () => {
  it.each<[who: string, tool: AnyTool]>([
    ['for a person', defineTool({ name: 'delete_row', run: () => 'gone' })],
    ['for a worker', defineTool({ name: 'get_row', handoff: true })],
  ])('%s leaves no listener on its ledger', async (_, tool) => {
    const inner = createMemoryLedger();
    let waiting = 0;
    const ledger = alterLedger(inner, {
      async whenChanged(...call) {
        waiting++;
        await inner.whenChanged(...call);
        waiting--;
      },
    });
    const runtime = createRuntime({ ledger, tools: [tool] });
    const asking = runtime.turn({ sessionId: 's' }).call(envelope('c', tool.name));
    asking.catch(() => undefined); // checked below
    await eventually(() => expect(waiting).toBe(1));
    await runtime.close();
    await expect(asking).rejects.toMatchObject({ code: 'call.pending' });
    await quiet();
    expect(waiting).toBe(0);
  });
});
