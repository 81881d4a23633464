/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import fc from 'fast-check';
import type { ToolOutcome } from 'quittance';
import type { ConfirmationAnswer, ConfirmationRequest, PreToolUse } from 'quittance/runtime';
import { createRuntime, defineTool, ToolDecision } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { StringContracts } from 'quittance/contracts';
import { contractsFromMultiple, contractsFromYamlString } from 'quittance/contracts';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import { createMortalLedger } from '../mortal-ledger.ts';
import { question, yes } from '../people/question.ts';
import { documentOf } from '../sample-policy.ts';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet, setStage } from '../stage.ts';
import { alterLedger } from '../alter-ledger.ts';

type Word = 'allow' | 'ask' | 'block';

/** Documents are YAML, and JSON is YAML. */
const text = (document: JsonObject): string => JSON.stringify(document);
const load = (document: JsonObject): StringContracts => contractsFromYamlString(text(document));

const pre = (id: string, action: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: 'pre',
  tool: 'Bash',
  when: { 'args.command': { exists: true } },
  then: { action, message: `${id} says ${action}` },
  ...more,
});
const sandbox = (outside: string, more: JsonObject = {}): JsonObject => ({
  id: 'sandbox',
  type: 'sandbox',
  tool: 'Bash',
  within: ['/project'],
  outside,
  message: `sandbox says ${outside}`,
  ...more,
});
const session = (most: number, more: JsonObject = {}): JsonObject => ({
  id: 'session',
  type: 'session',
  limits: { max_tool_calls: most },
  then: { action: 'block', message: 'session says block' },
  ...more,
});
const workflow = (word: Word): JsonObject => ({
  apiVersion: 'edictum/v1',
  kind: 'Workflow',
  metadata: { name: 'flow' },
  stages: {
    allow: [{ id: 'run', tools: ['Bash'] }],
    ask: [
      { id: 'review', approval: { message: 'workflow says ask' } },
      { id: 'run', tools: ['Bash'] },
    ],
    block: [{ id: 'read', tools: ['Read'] }],
  }[word],
});
const nothingYet = documentOf([session(1_000, { id: 'counting' })]);
const harmless = documentOf([pre('harmless', 'block', { tool: 'Nothing' })]);
const call = { command: 'cat /elsewhere/x' };

type Parts = {
  readonly hook: Word;
  readonly rule: Word;
  readonly sandbox: Word;
  readonly session: 'allow' | 'block';
  readonly workflow: Word;
};
const word = fc.constantFrom<Word>('allow', 'ask', 'block');
const parts = fc.record<Parts>({
  hook: word,
  rule: word,
  sandbox: word,
  session: fc.constantFrom('allow', 'block'),
  workflow: word,
});

/** One call was made before, so that a limit of one is used up. */
async function play(said: Parts, order: { readonly rules: readonly number[]; readonly flowFirst: boolean }) {
  const ran: string[] = [];
  const asked: ConfirmationRequest[] = [];
  const rulesPart = load(nothingYet);
  const flowPart = load(harmless);
  let listens = false;
  const hook: PreToolUse = () => {
    if (!listens || said.hook === 'allow') return ToolDecision.allow;
    return said.hook === 'ask'
      ? ToolDecision.requiresConfirmation('hook says ask')
      : ToolDecision.block('hook says block');
  };
  const stage = setStage({
    tools: [defineTool({ name: 'Bash', mode: 'external', run: (_, { callId }) => ran.push(callId) })],
    contracts: contractsFromMultiple(order.flowFirst ? [flowPart, rulesPart] : [rulesPart, flowPart]),
    onPreToolUse: hook,
    onConfirm: (request) => {
      asked.push(request);
      return { decision: 'approve', by: 'ada' };
    },
  });
  await stage.turn.call(envelope('before', 'Bash'));
  const rules: JsonObject[] = [
    session(said.session === 'block' ? 1 : 1_000),
    pre('rule', said.rule === 'allow' ? 'block' : said.rule, said.rule === 'allow' ? { tool: 'No' } : {}),
    ...(said.sandbox === 'allow' ? [] : [sandbox(said.sandbox)]),
  ];
  rulesPart.reload(text(documentOf(shuffle(rules, order.rules))));
  flowPart.reload(text(workflow(said.workflow)));
  listens = true;
  const outcome = await stage.turn.call(envelope('c', 'Bash', call));
  return { ...stage, outcome, ran: ran.filter((id) => id === 'c'), asked };
}

const shuffle = <Item>(items: readonly Item[], by: readonly number[]): readonly Item[] =>
  items.toSorted((left, right) => (by[items.indexOf(left)] ?? 0) - (by[items.indexOf(right)] ?? 0));

const order = fc.record({
  rules: fc.array(fc.nat(), { minLength: 3, maxLength: 3 }),
  flowFirst: fc.boolean(),
});

describe('[deny-wins] block beats ask beats allow', () => {
  it('[deny-wins] block beats ask beats allow from any source, in any order: hooks, rules, sandboxes, sessions, workflows', async () => {
    await fc.assert(
      fc.asyncProperty(parts, order, async (said, inOrder) => {
        const words = Object.values(said);
        const { runtime, outcome, ran, asked } = await play(said, inOrder);
        const blocked = words.includes('block');
        const asks = words.filter((each) => each === 'ask').length;
        expect({
          type: outcome.type,
          reason: 'reason' in outcome && outcome.reason,
          ran: ran.length,
          // Several asks make one confirmation, which shows all of them.
          asked: asked.map((request) => request.asks.length),
        }).toEqual({
          type: blocked ? 'ToolDenied' : 'ToolExecutionResult',
          reason: blocked && (said.hook === 'block' ? 'pre_hook' : 'contract'),
          ran: blocked ? 0 : 1,
          asked: !blocked && asks > 0 ? [asks] : [],
        });
        await expectSettledOnce(runtime);
      }),
      { numRuns: 120 },
    );
  });

  it('[deny-wins] the record lists every rule that fired and who decided; if a hook blocks too, the hook is named', async () => {
    const said: Parts = { hook: 'allow', rule: 'block', sandbox: 'ask', session: 'block', workflow: 'block' };
    const inOrder = { rules: [3, 2, 1], flowFirst: true };
    for (const hook of ['allow', 'block'] as const) {
      const { runtime } = await play({ ...said, hook }, inOrder);
      const decided = (await eventsOf(runtime, 'tool.decided')).find(({ callId }) => callId === 'c');
      expect(decided?.rules.map(({ ruleId, action }) => `${ruleId} ${action}`)).toEqual([
        'sandbox ask',
        'rule block',
        'session block',
        'workflow:flow/read block',
      ]);
      expect(decided?.decidedBy).toEqual(
        hook === 'block' ? { type: 'hook', name: 'hook' } : { type: 'rule', name: 'rule' },
      );
      const [record] = await runtime.calls.audit({ sessionId: 's', callId: 'c' });
      expect(record).toMatchObject({ decidedBy: decided?.decidedBy, policyVersion: decided?.policyVersion });
    }
  });

  it('[deny-wins] rules in observe mode change no decision and are on record', async () => {
    const observe = { mode: 'observe' };
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('allow', 'ask', 'block'), order, async (real, { rules }) => {
        const asked: string[] = [];
        const run = async (watching: readonly JsonObject[]) => {
          const { runtime, turn } = setStage({
            tools: [defineTool({ name: 'Bash', mode: 'external', run: () => 'ran' })],
            contracts: load(
              documentOf(
                shuffle(
                  [
                    pre('real', real === 'allow' ? 'block' : real, real === 'allow' ? { tool: 'No' } : {}),
                    ...watching,
                  ],
                  [...rules, 1, 2],
                ),
              ),
            ),
            onConfirm: ({ description }) => {
              asked.push(description);
              return { decision: 'approve', by: 'ada' };
            },
          });
          const outcome: ToolOutcome = await turn.call(envelope('c', 'Bash', call));
          return { outcome: { ...outcome, elapsedMs: 0 }, decided: await eventsOf(runtime, 'tool.decided') };
        };
        const alone = await run([]);
        const asks = asked.splice(0);
        const watched = await run([
          pre('w-block', 'block', observe),
          pre('w-ask', 'ask', observe),
          sandbox('block', observe),
          session(1, { ...observe, limits: { max_attempts: 1, max_tool_calls: 1 } }),
        ]);
        expect(watched.outcome).toEqual(alone.outcome);
        expect(asked.splice(0)).toEqual(asks);
        expect(watched.decided.map(({ decision, decidedBy }) => ({ decision, decidedBy }))).toEqual(
          alone.decided.map(({ decision, decidedBy }) => ({ decision, decidedBy })),
        );
        const marks = watched.decided[0]?.rules.filter(({ observed }) => observed) ?? [];
        expect(marks.map(({ ruleId }) => ruleId).toSorted()).toEqual(['sandbox', 'w-ask', 'w-block']);
      }),
      { numRuns: 30 },
    );
  });
});

describe('[deny-wins] an approval never skips a check', () => {
  /** A call that the rule `people` holds, and a way to decide. */
  async function holdCall(rules: readonly JsonObject[] = [pre('people', 'ask')]) {
    const answers: ((answer: ConfirmationAnswer) => void)[] = [];
    const asked: string[] = [];
    let ran = 0;
    let hookSays: ToolDecision = ToolDecision.allow;
    const ruleset = load(documentOf(rules));
    const flow = load(harmless);
    const stage = setStage({
      tools: [defineTool({ name: 'Bash', mode: 'external', loopLimit: 100, run: () => ++ran })],
      contracts: contractsFromMultiple([ruleset, flow]),
      onPreToolUse: () => hookSays,
      onConfirm: ({ description }) => {
        const answer = deferred<ConfirmationAnswer>();
        asked.push(description);
        answers.push(answer.resolve);
        return answer.promise;
      },
    });
    const outcome = stage.turn.call(envelope('c', 'Bash', call));
    await quiet();
    const approve = async (): Promise<void> => {
      answers.shift()?.({ decision: 'approve', by: 'ada' });
      await quiet();
    };
    expect(asked).toHaveLength(1);
    return {
      ...stage,
      outcome,
      asked,
      approve,
      answers,
      flow,
      reload: (next: readonly JsonObject[]) => ruleset.reload(text(documentOf(next))),
      hook: (decision: ToolDecision) => (hookSays = decision),
      runs: () => ran,
    };
  }

  it.each<readonly [string, readonly JsonObject[]]>([
    ['a rule that blocks now', [pre('people', 'block')]],
    ['a new rule that blocks', [pre('people', 'ask'), pre('new', 'block')]],
    ['a sandbox that blocks now', [pre('people', 'ask'), sandbox('block')]],
  ])('[deny-wins] %s denies a held call after its approval', async (_, next) => {
    const held = await holdCall();
    held.reload(next);
    await held.approve();
    expect(await held.outcome).toMatchObject({ type: 'ToolDenied', reason: 'contract' });
    expect([held.runs(), held.asked.length]).toEqual([0, 1]);
    await expectSettledOnce(held.runtime);
  });

  it.each<readonly [string, readonly JsonObject[]]>([
    ['the same question among other rules', [pre('other', 'block', { tool: 'No' }), pre('people', 'ask')]],
    ['no question any more', [pre('other', 'block', { tool: 'No' })]],
    [
      'the same question, and one that only observes',
      [pre('people', 'ask'), pre('o', 'ask', { mode: 'observe' })],
    ],
  ])('[deny-wins] %s: the approval counts, and the ruling names the current rules', async (_, next) => {
    const held = await holdCall();
    held.reload(next);
    await held.approve();
    expect(await held.outcome).toMatchObject({ type: 'ToolExecutionResult' });
    expect([held.runs(), held.asked.length]).toEqual([1, 1]);
    const decided = await eventsOf(held.runtime, 'tool.decided');
    expect(decided.map(({ decision }) => decision)).toEqual(['ask', 'allow']);
    expect(decided[0]?.policyVersion).not.toBe(decided[1]?.policyVersion);
  });

  it.each<readonly [string, readonly JsonObject[]]>([
    ['the rule has other words', [pre('people', 'ask', { then: { action: 'ask', message: 'Really?' } })]],
    [
      'the rule has another condition',
      [pre('people', 'ask', { when: { 'args.command': { contains: 'cat' } } })],
    ],
    [
      'the rule waits another time',
      [pre('people', 'ask', { then: { action: 'ask', message: 'people says ask', timeout: 9 } })],
    ],
    ['another rule asks', [pre('others', 'ask')]],
    ['another rule asks as well', [pre('people', 'ask'), sandbox('ask')]],
  ])('[deny-wins] if %s, a person is asked again', async (_, next) => {
    const held = await holdCall();
    held.reload(next);
    await held.approve();
    expect([held.runs(), held.asked.length]).toEqual([0, 2]);
    await held.approve();
    expect(await held.outcome).toMatchObject({ type: 'ToolExecutionResult' });
    expect([held.runs(), held.asked.length]).toEqual([1, 2]);
    await expectSettledOnce(held.runtime);
  });

  it('[deny-wins] a limit that was used up meanwhile denies', async () => {
    const held = await holdCall([pre('people', 'ask'), session(1)]);
    expect(await held.turn.call(envelope('quick', 'Bash'))).toMatchObject({ type: 'ToolExecutionResult' });
    await held.approve();
    expect(await held.outcome).toMatchObject({ type: 'ToolDenied', details: 'session says block' });
    expect(held.runs()).toBe(1);
  });

  it('[deny-wins] a hook that now blocks denies', async () => {
    const held = await holdCall();
    held.hook(ToolDecision.block('too late'));
    await held.approve();
    expect(await held.outcome).toMatchObject({ type: 'ToolDenied', reason: 'pre_hook', details: 'too late' });
    expect(held.runs()).toBe(0);
  });

  it('[deny-wins] a denial after the approval stays, even if the process died before the call ended', async () => {
    const clock = createManualClock();
    const file = createMortalLedger(clock);
    let runs = 0;
    let said: ToolDecision = ToolDecision.requiresConfirmation('Sure?');
    const start = (cancel: () => void) => {
      const { ledger, kill } = file.open();
      const tool = defineTool({
        name: 'write',
        mode: 'local',
        preview: () => ({ kind: 'text', text: 'writes' }),
        cancel,
        run: () => ++runs,
      });
      const onPreToolUse = (): ToolDecision => said;
      return { runtime: createRuntime({ tools: [tool], ledger, clock, onPreToolUse }), kill };
    };
    const first = start(() => first.kill());
    void first.runtime.turn({ sessionId: 's' }).call(envelope('c', 'write'));
    const asked = await question(first.runtime);
    said = ToolDecision.block('not any more');
    void first.runtime.confirmations.decide(asked.confirmationId, yes(asked));
    const decisions = async (): Promise<readonly string[]> => {
      const stored = await file.inner.readCall('s', 'c');
      return (stored?.events ?? []).flatMap((event) =>
        event.type === 'tool.decided' ? [event.decision] : [],
      );
    };
    await expect.poll(decisions).toEqual(['ask', 'deny']);
    said = ToolDecision.allow;
    const next = start(() => undefined);
    await next.runtime.recover();
    const [call] = await next.runtime.calls.list({ sessionId: 's' });
    expect(call?.settled?.outcome).toMatchObject({ type: 'ToolDenied', reason: 'pre_hook' });
    expect(runs).toBe(0);
  });

  it('[deny-wins] a workflow that came into force meanwhile is applied', async () => {
    const blocked = await holdCall();
    blocked.flow.reload(text(workflow('block')));
    await blocked.approve();
    expect(await blocked.outcome).toMatchObject({ type: 'ToolDenied', reason: 'contract' });
    const asking = await holdCall();
    asking.flow.reload(text(workflow('ask')));
    await asking.approve();
    expect([asking.runs(), asking.asked]).toEqual([
      0,
      ['people says ask', expect.stringContaining('workflow says ask')],
    ]);
    await asking.approve();
    expect(await asking.outcome).toMatchObject({ type: 'ToolExecutionResult' });
  });

  it.each([
    ['deny', 'approves no stage', true],
    ['respond', 'approves no stage', true],
    ['edit', 'approves the stage', false],
    ['approve', 'approves the stage', false],
  ] as const)(
    '[deny-wins] an approval never skips a check to %s what a workflow asks about %s',
    async (decision, _, asksAgain) => {
      const { runtime, turn } = setStage({
        tools: [defineTool({ name: 'Bash', mode: 'read', run: () => 'ran' })],
        contracts: load(workflow('ask')),
      });
      const first = turn.call(envelope('c1', 'Bash', call));
      const { confirmationId, inputDigest } = await question(runtime);
      const who = { by: 'ada', inputDigest } as const;
      await runtime.confirmations.decide(
        confirmationId,
        decision === 'edit'
          ? { ...who, decision, arguments: call }
          : decision === 'respond'
            ? { ...who, decision, response: 'no' }
            : { ...who, decision },
      );
      expect((await first).type).toBe(asksAgain ? 'ToolDenied' : 'ToolExecutionResult');
      void turn.call(envelope('c2', 'Bash', call)).catch(() => undefined);
      for (let round = 0; round < 5; round++) await quiet();
      const [next] = (await runtime.calls.list({ sessionId: 's' })).filter(({ callId }) => callId === 'c2');
      expect(next?.status).toBe(asksAgain ? 'held' : 'settled');
    },
  );

  it('[deny-wins] a person’s denial holds, whatever the rules say now', async () => {
    const held = await holdCall();
    held.reload([pre('other', 'block', { tool: 'No' })]);
    held.answers.shift()?.({ decision: 'deny', by: 'ada', reason: 'not today' });
    expect(await held.outcome).toMatchObject({ type: 'ToolDenied', reason: 'write_denied' });
    expect(held.runs()).toBe(0);
  });

  it('[deny-wins] rules that fail to load leave the rules in force unchanged', async () => {
    const held = await holdCall();
    expect(() => held.reload([pre('people', 'explode')])).toThrow(/action/);
    await held.approve();
    expect(await held.outcome).toMatchObject({ type: 'ToolExecutionResult' });
  });
});

describe('[deny-wins] a session that moves while a second question is stored', () => {
  it('[deny-wins] passes every check again: nothing runs on the first approval', async () => {
    const ledger = createMemoryLedger();
    let holds = 0;
    const moving = alterLedger(ledger, {
      async append(entry) {
        // Another process advances the session at the moment the second question is stored.
        const isSecond = entry.events.some(({ type }) => type === 'tool.held') && ++holds === 2;
        return isSecond ? { status: 'moved', subject: 'session', version: 1 } : ledger.append(entry);
      },
    });
    let looks = 0;
    const ran: unknown[] = [];
    const policy: PreToolUse = () => {
      looks++;
      if (looks === 1) return ToolDecision.requiresConfirmation('May it?');
      return looks === 2
        ? ToolDecision.requiresConfirmation('Is it still so?')
        : ToolDecision.block('Not any more.');
    };
    const runtime = createRuntime({
      ledger: moving,
      tools: [defineTool({ name: 'pay', mode: 'read', run: (args) => ran.push(args) })],
      onPreToolUse: policy,
    });
    const told = runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay', {}));
    const open = await question(runtime);
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    expect(await told).toMatchObject({ type: 'ToolDenied', reason: 'pre_hook' });
    expect([ran, looks, holds]).toEqual([[], 3, 2]);
    await runtime.close();
  });
});
