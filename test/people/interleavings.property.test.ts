/**
 * Random lives of one held call: in any order of events, its body runs at most once, and only with a reason.
 */
import fc from 'fast-check';
import type { Runtime } from 'quittance';
import type { CallEvent, QuittanceEvent } from 'quittance/events';
import type { ConfirmationView, PersonDecision } from 'quittance/runtime';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import type { StringContracts } from 'quittance/contracts';
import { contractsFromYamlString } from 'quittance/contracts';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import type { Handle, MortalLedger } from '../mortal-ledger.ts';
import { createMortalLedger } from '../mortal-ledger.ts';
import { envelope, expectSettledOnce, quiet } from '../stage.ts';

type Rule = {
  readonly id: string;
  readonly action: 'ask' | 'block';
  readonly over: number;
  readonly more?: string;
};
const ask = (id: string, over: number, more: string): Rule => ({ id, action: 'ask', over, more });
const block = (id: string, over: number): Rule => ({ id, action: 'block', over });
const lineOf = ({ id, action, over, more = '' }: Rule): string =>
  `  - { id: ${id}, type: pre, tool: pay, when: { args.cents: { gt: ${over} } }, then: { action: ${action}, message: m${more} } }`;

const rulesets: readonly (readonly Rule[])[] = [
  [ask('a', 0, ', timeout: 60')],
  [ask('a', 0, ', timeout: 60'), ask('b', 500, ', timeout: 30')],
  [ask('a', 1, ', timeout: 60')],
  [ask('a', 0, ', timeout: 20, timeout_effect: allow')],
  [ask('a', 0, ', timeout: 60'), block('no', 900)],
  [block('no', 0)],
  [ask('a', 2_000, ', timeout: 60')],
];
const documents = rulesets.map((rules) =>
  [
    'apiVersion: edictum/v1',
    'kind: Ruleset',
    'metadata: { name: r }',
    'defaults: { mode: enforce }',
    'rules:',
    ...rules.map(lineOf),
  ].join('\n'),
);
const byVersion = new Map(
  documents.map((text, index) => [contractsFromYamlString(text).version, rulesets[index] ?? []]),
);

/** The ruling of a ruleset about an amount, computed without the product. */
const saying = (version: string | undefined, action: Rule['action'], amount: unknown): string[] =>
  (byVersion.get(version ?? '') ?? [])
    .filter((rule) => rule.action === action && Number(amount) > rule.over)
    .map(lineOf);

const cents = fc.constantFrom(1, 100, 600, 1_000);
const who = fc.constantFrom('ada', 'bob');
/** Which question, counted from the newest; does the decision name its own digest? */
const about = { of: fc.nat({ max: 2 }), by: who, honest: fc.boolean() };
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('ask' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('approve' as const), ...about }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('edit' as const), cents, ...about }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deny' as const), ...about }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('respond' as const), ...about }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.constantFrom(1, 19, 20, 31, 61) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('reload' as const), to: fc.nat({ max: documents.length - 1 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('restart' as const), tool: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('settle down' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const approval = { do: 'approve', of: 0, by: 'ada', honest: true } as const;
const calm = { do: 'settle down' } as const;

/** Rare in random runs: approvals that cannot be used at once, and what may happen meanwhile. */
const passage: fc.Arbitrary<readonly Step[]> = fc.oneof(
  { weight: 8, arbitrary: step.map((each) => [each]) },
  {
    weight: 1,
    arbitrary: step.map(
      (each) => [calm, { do: 'restart', tool: false }, calm, approval, calm, each] as const,
    ),
  },
  { weight: 1, arbitrary: step.map((each) => [calm, approval, each] as const) },
);

class Life {
  readonly clock: ManualClock = createManualClock();
  readonly file: MortalLedger = createMortalLedger(this.clock);
  readonly ran: unknown[] = [];
  readonly questions: ConfirmationView[] = [];
  #document: number;
  #contracts!: StringContracts;
  #handle!: Handle;
  #runtimes!: readonly [Runtime, Runtime];

  constructor(document: number) {
    this.#document = document;
    this.restart(true);
  }

  get runtime(): Runtime {
    return this.#runtimes[0];
  }

  /**
   * The process is killed. Another starts on the same ledger, with or without the tool, and a second runtime
   * in it.
   */
  restart(hasTool: boolean): void {
    this.#handle?.kill();
    this.#handle = this.file.open();
    this.#contracts = contractsFromYamlString(documents[this.#document] ?? '');
    const pay = defineTool({ name: 'pay', run: (args) => this.ran.push(args) });
    const options = { clock: this.clock, ledger: this.#handle.ledger, contracts: this.#contracts };
    this.#runtimes = [
      createRuntime({ ...options, tools: hasTool ? [pay] : [] }),
      createRuntime({ ...options, tools: [] }),
    ];
    void this.runtime.recover().catch(() => undefined);
  }

  ask(): void {
    this.runtime
      .turn({ sessionId: 's' })
      .call(envelope('c', 'pay', { cents: 100 }))
      .catch(() => undefined);
  }

  async decide(step: Extract<Step, { of: number }>, decision: object): Promise<void> {
    const { rows } = await this.runtime.confirmations.list({ limit: 100 });
    for (const view of rows)
      if (!this.questions.some(({ confirmationId }) => confirmationId === view.confirmationId))
        this.questions.unshift(view);
    const view = this.questions[step.of];
    if (view === undefined) return;
    const inputDigest = step.honest ? view.inputDigest : (this.questions.at(-1)?.inputDigest ?? '');
    // The second decider is another runtime, which may not have the tool.
    const runtime = this.#runtimes[step.by === 'ada' ? 0 : 1];
    await runtime.confirmations
      .decide(view.confirmationId, { by: step.by, inputDigest, ...decision } as PersonDecision)
      .catch((error: unknown) => {
        if (!isQuittanceError(error)) throw error;
      });
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'ask':
        return this.ask();
      case 'approve':
      case 'deny':
        return void this.decide(step, { decision: step.do });
      case 'edit':
        return void this.decide(step, { decision: 'edit', arguments: { cents: step.cents } });
      case 'respond':
        return void this.decide(step, { decision: 'respond', response: 'no need' });
      case 'wait':
        return this.clock.advance(step.seconds * 1_000);
      case 'reload':
        this.#document = step.to;
        return this.#contracts.reload(documents[step.to] ?? '');
      case 'restart':
        return this.restart(step.tool);
      case 'settle down':
        for (let round = 0; round < 4; round++) await quiet();
    }
  }
}

const isOf = (event: QuittanceEvent): event is CallEvent => 'callId' in event && event.callId === 'c';

/** Why the body may have started, from the record alone. Throws if there is no reason. */
function expectRight(events: readonly CallEvent[], amount: unknown): void {
  const startedAt = events.findIndex(({ type }) => type === 'tool.started');
  const before = events.slice(0, startedAt);
  const started = events[startedAt];
  const ruling = before.findLast((event) => event.type === 'tool.decided');
  expect(ruling).toMatchObject({ decision: 'allow' });
  expect(saying(ruling?.policyVersion, 'block', amount)).toEqual([]);
  const held = before.findLast((event) => event.type === 'tool.held');
  // Rules that asked no one at first, or do not ask any more: there was nothing to approve.
  const asks = saying(ruling?.policyVersion, 'ask', amount);
  // Every rule that asks now asked the same when the person saw the call.
  const shown =
    held && before.slice(0, before.indexOf(held)).findLast((event) => event.type === 'tool.decided');
  const known = new Set((byVersion.get(shown?.policyVersion ?? '') ?? []).map(lineOf));
  expect(asks.filter((line) => !known.has(line))).toEqual([]);
  if (held === undefined || started === undefined) return;
  const answer = before.findLast(
    (event) => event.type === 'confirmation.decided' || event.type === 'confirmation.expired',
  );
  const byRule = answer?.type === 'confirmation.expired' && {
    effect: answer.effect,
    allowed: held.timeoutEffect,
    by: answer.by?.type,
  };
  const byPerson = answer?.type === 'confirmation.decided' && {
    decision: answer.decision === 'edit' ? 'approve' : answer.decision,
    by: answer.by.type,
    inputDigest: answer.inputDigest,
    revision: answer.revision,
    inTime: started.at < (held.expiresAt ?? Number.POSITIVE_INFINITY),
    judged: ruling?.inputDigest === (answer.editedDigest ?? held.inputDigest),
  };
  expect(answer).toMatchObject({ confirmationId: held.confirmationId });
  expect(byRule || byPerson).toEqual(
    byRule
      ? { effect: 'allow', allowed: 'allow', by: 'rule' }
      : {
          decision: 'approve',
          by: 'person',
          inputDigest: held.inputDigest,
          revision: held.revision,
          inTime: true,
          judged: true,
        },
  );
}

/** The question is approved as it was asked. */
const lifeThatRuns: [number, Step[]] = [
  0,
  [{ do: 'settle down' }, { do: 'approve', of: 0, by: 'ada', honest: true }, { do: 'settle down' }],
];

describe('[bound-approval] in any order of holds, decisions, expiry, reloads and crashes', () => {
  it(
    '[bound-approval] the body runs at most once, and only with a reason',
    { timeout: 600_000 },
    async () => {
      const numRuns = Number(process.env['INTERLEAVINGS'] ?? 150);
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.nat({ max: documents.length - 1 }),
          fc.array(passage, { minLength: 2, maxLength: 20 }).map((passages) => passages.flat()),
          async (document, steps) => {
            const life = new Life(document);
            life.ask();
            for (const each of steps) await life.take(each);
            // In the end a process with the tool starts, and everything that can end does.
            await life.take({ do: 'settle down' });
            life.restart(true);
            life.ask();
            await life.take({ do: 'settle down' });
            // A call that an expiry allowed may be asked about again by another rule.
            for (let round = 0; round < 3; round++) {
              life.clock.advance(3_600_000);
              await life.take({ do: 'settle down' });
            }
            const events = (await life.runtime.events.list({ sessionId: 's' })).filter(isOf);
            const starts = events.filter(({ type }) => type === 'tool.started');
            expect(starts.length).toBeLessThanOrEqual(1);
            expect(life.ran.length).toBeLessThanOrEqual(starts.length);
            if (starts.length === 1)
              expectRight(events, (life.ran[0] as { cents?: number } | undefined)?.cents);
            await expectSettledOnce(life.runtime);
            runs += life.ran.length;
          },
        ),
        { numRuns, examples: [lifeThatRuns] },
      );
      expect(runs).toBeGreaterThan(0); // otherwise this proves little
    },
  );
});
