/**
 * Random lives of one call that needs several people, across runtimes. In any order of approvals, denials, edits,
 * delegations, rule changes, expiries and crashes, its body runs at most once, and only with a valid quorum. The quorum
 * is counted here from the record, without the product's own counting.
 */
import fc from 'fast-check';
import type { Runtime } from 'quittance';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import type { StringContracts } from 'quittance/contracts';
import { contractsFromYamlString } from 'quittance/contracts';
import type { CallEvent, DirectIdentity, QuittanceEvent } from 'quittance/events';
import type { ConfirmationView, PersonDecision } from 'quittance/runtime';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import type { Handle, MortalLedger } from '../mortal-ledger.ts';
import { createMortalLedger } from '../mortal-ledger.ts';
import { envelope, expectSettledOnce, quiet } from '../stage.ts';
import { expectVerified, payRule, person, ruleset } from './quorum-stage.ts';

/** The groups of each person. `bob` requests the call. */
const people: Readonly<Record<string, readonly string[]>> = {
  ada: ['finance'],
  eve: ['finance', 'security'],
  sam: ['security'],
  bob: ['finance', 'security'],
  mal: [],
};
const names = Object.keys(people);

type Need = { readonly groups: readonly (readonly [group: string, quorum: number])[]; readonly yaml: string };
const needs: readonly Need[] = [
  { groups: [['finance', 2]], yaml: '{ groups: [finance], quorum: 2, exclude: [asker] }' },
  { groups: [['finance', 1]], yaml: '{ groups: [finance], exclude: [asker], denials: 2 }' },
  {
    groups: [
      ['finance', 1],
      ['security', 1],
    ],
    yaml: '{ all_of: [{ groups: [finance] }, { groups: [security] }], exclude: [asker] }',
  },
  {
    groups: [['security', 2]],
    yaml: '{ groups: [security], quorum: 2, exclude: [asker], delegation: none }',
  },
];
const documents = needs.map(({ yaml }) => ruleset(payRule(yaml, { timeout: 60 })));
const byVersion = new Map(documents.map((text, at) => [contractsFromYamlString(text).version, needs[at]]));

const who = fc.constantFrom(...names);
const about = {
  of: fc.nat({ max: 1 }),
  by: who,
  honest: fc.constantFrom(true, true, true, false),
  via: fc.nat({ max: 1 }),
};
const one = <Word extends string>(word: Word): fc.Arbitrary<Word> => fc.constant(word);
const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: one('ask') }) },
  { weight: 8, arbitrary: fc.record({ do: one('approve'), ...about }) },
  { weight: 1, arbitrary: fc.record({ do: one('edit'), cents: fc.constantFrom(1, 5), ...about }) },
  { weight: 1, arbitrary: fc.record({ do: one('deny'), ...about }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: one('delegate'), by: who, to: who, seconds: fc.constantFrom(5, 50) }),
  },
  { weight: 2, arbitrary: fc.record({ do: one('wait'), seconds: fc.constantFrom(1, 10, 59, 61) }) },
  { weight: 1, arbitrary: fc.record({ do: one('reload'), to: fc.nat({ max: documents.length - 1 }) }) },
  { weight: 1, arbitrary: fc.record({ do: one('restart') }) },
  { weight: 4, arbitrary: fc.record({ do: one('settle down') }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const identityOf = (name: string): DirectIdentity => person(name, people[name]);

class Life {
  readonly clock: ManualClock = createManualClock();
  readonly file: MortalLedger = createMortalLedger(this.clock);
  readonly ran: unknown[] = [];
  #document: number;
  #contracts!: StringContracts;
  #handle!: Handle;
  #runtimes!: readonly [Runtime, Runtime];

  constructor(document: number) {
    this.#document = document;
    this.restart();
  }

  get runtime(): Runtime {
    return this.#runtimes[0];
  }
  get ledger(): Handle['ledger'] {
    return this.#handle.ledger;
  }

  /** The process is killed. Another starts on the same ledger, with a second runtime that does not have the tool. */
  restart(): void {
    this.#handle?.kill();
    this.#handle = this.file.open();
    this.#contracts = contractsFromYamlString(documents[this.#document] ?? '');
    const pay = defineTool({ name: 'pay', mode: 'external', run: (args) => this.ran.push(args) });
    const options = { clock: this.clock, ledger: this.#handle.ledger, contracts: this.#contracts };
    this.#runtimes = [createRuntime({ ...options, tools: [pay] }), createRuntime({ ...options, tools: [] })];
    void this.runtime.recover().catch(() => undefined);
  }

  ask(): void {
    this.runtime
      .turn({ sessionId: 's', principal: { userId: 'bob' } })
      .call(envelope('c', 'pay', { cents: 100 }))
      .catch(() => undefined);
  }

  async decide({ of, by, honest, via }: Extract<Step, { of: number }>, decision: object): Promise<void> {
    const { rows } = await this.runtime.confirmations.list({ limit: 100 });
    const view: ConfirmationView | undefined = rows[of];
    if (view === undefined) return;
    const inputDigest = honest ? view.inputDigest : 'sha256:another';
    const given = { by, identity: identityOf(by), inputDigest, ...decision } as PersonDecision;
    await this.#runtimes[via === 0 ? 0 : 1].confirmations
      .decide(view.confirmationId, given)
      .catch(onlyRefusal);
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
      case 'delegate': {
        const until = this.clock.now() + step.seconds * 1_000;
        const given = { by: step.by, identity: identityOf(step.by), to: step.to, until };
        return void (await this.runtime.delegations.give(given).catch(onlyRefusal));
      }
      case 'wait':
        return this.clock.advance(step.seconds * 1_000);
      case 'reload':
        this.#document = step.to;
        return this.#contracts.reload(documents[step.to] ?? '');
      case 'restart':
        return this.restart();
      case 'settle down':
        for (let round = 0; round < 4; round++) await quiet();
    }
  }
}

function onlyRefusal(error: unknown): void {
  if (!isQuittanceError(error)) throw error;
}

const isOf = (event: QuittanceEvent): event is CallEvent => 'callId' in event && event.callId === 'c';

/** Everyone who stands behind an approval of the question, by the record: the person, or who delegated to them. */
function approversOf(events: readonly CallEvent[], confirmationId: string): Map<string, string> {
  const approvers = new Map<string, string>();
  for (const event of events) {
    if (event.type !== 'confirmation.voted' && event.type !== 'confirmation.decided') continue;
    if (event.confirmationId !== confirmationId) continue;
    const { name, behalf = [] } = event.by;
    const whose = behalf.at(-1)?.name ?? name;
    if (event.decision === 'edit') approvers.clear();
    for (const [actor, other] of approvers) if (actor === name || other === whose) approvers.delete(actor);
    if (event.decision !== 'deny') approvers.set(name, whose);
  }
  return approvers;
}

/** Can distinct people fill all places? Tried out for every order, without the product's matching. */
function fills(groups: Need['groups'], members: readonly string[]): boolean {
  const places = groups.flatMap(([group, quorum]) => Array.from({ length: quorum }, () => group));
  const seat = (at: number, free: readonly string[]): boolean =>
    at === places.length ||
    free.some(
      (name) =>
        people[name]?.includes(places[at] ?? '') === true &&
        seat(
          at + 1,
          free.filter((other) => other !== name),
        ),
    );
  return seat(0, members);
}

function expectQuorum(events: readonly CallEvent[]): void {
  const startedAt = events.findIndex(({ type }) => type === 'tool.started');
  const before = events.slice(0, startedAt);
  const held = before.findLast((event) => event.type === 'tool.held');
  const ruling = before.findLast((event) => event.type === 'tool.decided');
  const answer = before.findLast((event) => event.type === 'confirmation.decided');
  expect(answer).toMatchObject({ confirmationId: held?.confirmationId });
  const approvers = approversOf(before, held?.confirmationId ?? '');
  expect([...approvers.keys(), ...approvers.values()]).not.toContain('bob');
  const need = byVersion.get(ruling?.policyVersion ?? '');
  expect({
    need,
    approvers,
    fills: fills(need?.groups ?? [['nobody', 1]], [...approvers.values()]),
  }).toMatchObject({
    fills: true,
  });
  expect((events[startedAt]?.at ?? 0) < (held?.expiresAt ?? 0)).toBe(true);
}

/** One of two people from finance is enough, and approves. About every ninth random life runs too. */
const lifeThatRuns: [number, Step[]] = [
  1,
  [{ do: 'approve', of: 0, by: 'ada', honest: true, via: 0 }, { do: 'settle down' }],
];

describe('[bound-approval] with several people, in any order of events', () => {
  it(
    '[bound-approval] the body runs at most once, and only with a valid quorum',
    { timeout: 600_000 },
    async () => {
      const numRuns = Number(process.env['INTERLEAVINGS'] ?? 60);
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.nat({ max: documents.length - 1 }),
          fc.array(step, { minLength: 4, maxLength: 24 }),
          async (document, steps) => {
            const life = new Life(document);
            life.ask();
            await life.take({ do: 'settle down' });
            for (const each of steps) await life.take(each);
            await life.take({ do: 'settle down' });
            life.restart();
            life.ask();
            for (let round = 0; round < 3; round++) {
              await life.take({ do: 'settle down' });
              life.clock.advance(3_600_000);
            }
            await life.take({ do: 'settle down' });
            const events = (await life.runtime.events.list({ sessionId: 's' })).filter(isOf);
            const starts = events.filter(({ type }) => type === 'tool.started');
            expect(starts.length).toBeLessThanOrEqual(1);
            expect(life.ran.length).toBeLessThanOrEqual(starts.length);
            if (starts.length === 1) expectQuorum(events);
            await expectSettledOnce(life.runtime);
            await expectVerified(life.ledger);
            runs += life.ran.length;
          },
        ),
        { numRuns, examples: [lifeThatRuns] },
      );
      expect(runs).toBeGreaterThan(0); // otherwise this proves little
    },
  );
});
