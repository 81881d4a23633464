/**
 * A standing grant is the only way past a question without a person at that moment. These tests show how
 * narrow it is.
 */
import fc from 'fast-check';
import type { JsonObject, Runtime } from 'quittance';
import type { QuittanceEvent } from 'quittance/events';
import type { Entry, OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { contractsFromYamlString } from 'quittance/contracts';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { envelope, expectSettledOnce, quiet, setStage } from '../stage.ts';
import { alterLedger } from '../alter-ledger.ts';

const everything = { sessionId: 's', toolName: '*', by: 'ada' } as const;

/** Submits a call and returns its status once nothing moves any more. */
async function statusOf(
  runtime: Pick<Runtime, 'turn' | 'calls'>,
  id: string,
  name: string,
  args: JsonObject = {},
) {
  const handle = runtime.turn({ sessionId: 's' }).submit(envelope(id, name, args));
  void handle.outcome().catch(() => undefined);
  for (let n = 0; n < 4; n++) await quiet();
  return (await runtime.calls.list({ sessionId: 's', callId: id }))[0]?.status;
}

const ruleset = (...rules: readonly string[]): string =>
  `apiVersion: quittance/v1\nkind: Ruleset\nmetadata: { name: r }\ndefaults: { mode: enforce }\nrules:\n${rules
    .map((rule) => `  - ${rule}`)
    .join('\n')}\n`;
const rule = (id: string, action: string, over: number): string =>
  `{ id: ${id}, type: pre, tool: pay, when: { args.cents: { gt: ${over} } }, then: { action: ${action}, message: "${id}" } }`;

describe('[bound-approval] a standing grant', () => {
  it('[bound-approval] never approves a call that may already have taken effect', async () => {
    let runs = 0;
    const { runtime } = setStage({
      tools: [
        defineTool({
          name: 'pay',
          mode: 'external',
          run: () => (++runs === 1 ? Promise.reject(new Error('lost')) : 'paid'),
        }),
      ],
      treatments: { external: 'ask' },
    });
    await runtime.grants.give(everything);
    expect(await statusOf(runtime, 'a', 'pay', { to: 'bob' })).toBe('settled');
    expect(await statusOf(runtime, 'b', 'pay', { to: 'bob' })).toBe('held');
    expect(await statusOf(runtime, 'c', 'pay', { to: 'eve' })).toBe('settled');
    expect(runs).toBe(2);
  });

  it('[bound-approval] never approves a call that shares a key with such a call', async () => {
    let runs = 0;
    const { runtime } = setStage({
      tools: [
        defineTool({
          name: 'pay',
          mode: 'external',
          idempotencyKey: () => 'k',
          idempotencyScope: 'ledger',
          run: () => Promise.reject(new Error(`lost ${++runs}`)),
        }),
      ],
      treatments: { external: 'ask' },
    });
    await runtime.grants.give(everything);
    await runtime.grants.give({ ...everything, sessionId: 'other' });
    void runtime
      .turn({ sessionId: 'other' })
      .submit(envelope('a', 'pay'))
      .outcome()
      .catch(() => undefined);
    await quiet();
    await quiet();
    expect(runs).toBe(1);
    expect(await statusOf(runtime, 'b', 'pay')).toBe('held');
    expect(runs).toBe(1);
  });

  it('[bound-approval] never approves a stage of a workflow', async () => {
    const contracts = contractsFromYamlString(`
apiVersion: quittance/v1
kind: Workflow
metadata: { name: release, version: "1" }
stages:
  - { id: review, approval: { message: Reviewed? } }
  - { id: push, tools: [push] }
`);
    let runs = 0;
    const tool = defineTool({ name: 'push', mode: 'external', run: () => ++runs });
    const { runtime } = setStage({ tools: [tool], contracts, treatments: { external: 'ask' } });
    await runtime.grants.give(everything);
    expect(await statusOf(runtime, 'a', 'push')).toBe('held');
    expect(runs).toBe(0);
  });

  it('[bound-approval] answers rules that ask, but no rule that blocks', async () => {
    const contracts = contractsFromYamlString(ruleset(rule('big', 'ask', 100), rule('huge', 'block', 1_000)));
    const ran: unknown[] = [];
    const tool = defineTool({ name: 'pay', mode: 'external', run: (args) => ran.push(args) });
    const { runtime, turn } = setStage({ tools: [tool], contracts });
    const { grantId } = await runtime.grants.give(everything);
    await turn.call(envelope('a', 'pay', { cents: 500 }));
    expect(await turn.call(envelope('b', 'pay', { cents: 5_000 }))).toMatchObject({ type: 'ToolDenied' });
    expect(ran).toEqual([{ cents: 500 }]);
    const [let_, denied] = await runtime.calls.list({ sessionId: 's' });
    expect([let_?.grantId, denied?.grantId]).toEqual([grantId, undefined]);
    await expectSettledOnce(runtime);
  });

  it('[bound-approval] answers a new ask after an approval, and nothing else', async () => {
    const contracts = contractsFromYamlString(ruleset(rule('big', 'ask', 100)));
    const ran: unknown[] = [];
    const tool = defineTool({ name: 'pay', mode: 'external', run: (args) => ran.push(args) });
    const { runtime } = setStage({ tools: [tool], contracts });
    const approve = async (): Promise<void> => {
      const [open] = (await runtime.confirmations.list({ status: 'pending' })).rows;
      await runtime.confirmations.decide(open?.confirmationId ?? '', {
        decision: 'approve',
        by: 'bob',
        inputDigest: open?.inputDigest ?? '',
      });
      for (let n = 0; n < 4; n++) await quiet();
    };
    expect(await statusOf(runtime, 'a', 'pay', { cents: 500 })).toBe('held');
    const { grantId } = await runtime.grants.give(everything);
    await approve();
    expect((await runtime.calls.list({ sessionId: 's', callId: 'a' }))[0]).toMatchObject({
      status: 'settled',
      grantId: undefined,
    });
    await runtime.grants.revoke({ sessionId: 's', grantId, by: 'ada' });
    expect(await statusOf(runtime, 'b', 'pay', { cents: 501 })).toBe('held');
    const second = await runtime.grants.give(everything);
    contracts.reload(ruleset(rule('big', 'ask', 100), rule('new', 'ask', 200)));
    await approve();
    expect((await runtime.calls.list({ sessionId: 's', callId: 'b' }))[0]).toMatchObject({
      status: 'settled',
      grantId: second.grantId,
    });
    expect(ran).toHaveLength(2);
  });
});

/** A ledger on which something happens just before an intent with a grant is appended. */
function interrupted(inner: OpenLedger, happen: () => Promise<unknown>): OpenLedger {
  let done = false;
  return alterLedger(inner, {
    append: async (entry: Entry) => {
      if (!done && entry.guards !== undefined) {
        done = true;
        await happen();
      }
      return inner.append(entry);
    },
  });
}

describe('[bound-approval] between the check of a grant and the intent', () => {
  const tool = (ran: unknown[]) => defineTool({ name: 'delete_it', run: (args) => ran.push(args) });

  it('[bound-approval] a revocation counts: the call is held, and its body never runs', async () => {
    const ran: unknown[] = [];
    const inner = createMemoryLedger();
    const elsewhere = createRuntime({ tools: [], ledger: inner });
    const ledger = interrupted(inner, async () => {
      const [grant] = await elsewhere.grants.list({ sessionId: 's' });
      await elsewhere.grants.revoke({ sessionId: 's', grantId: grant?.grantId ?? '', by: 'bob' });
    });
    const runtime = createRuntime({ tools: [tool(ran)], ledger });
    await runtime.grants.give(everything);
    expect(await statusOf(runtime, 'a', 'delete_it')).toBe('held');
    expect(ran).toEqual([]);
    expect((await runtime.calls.list({ sessionId: 's' }))[0]?.grantId).toBeUndefined();
  });

  it('[bound-approval] another grant changes nothing: the call runs once, under the first', async () => {
    const ran: unknown[] = [];
    const inner = createMemoryLedger();
    const elsewhere = createRuntime({ tools: [], ledger: inner });
    const ledger = interrupted(inner, () => elsewhere.grants.give({ ...everything, by: 'bob' }));
    const runtime = createRuntime({ tools: [tool(ran)], ledger });
    const { grantId } = await runtime.grants.give(everything);
    expect(await statusOf(runtime, 'a', 'delete_it')).toBe('settled');
    expect(ran).toHaveLength(1);
    expect((await runtime.grants.list({ sessionId: 's' })).map(({ used }) => used)).toEqual([1, 0]);
    expect((await runtime.calls.list({ sessionId: 's' }))[0]?.grantId).toBe(grantId);
  });

  it('[bound-approval] its end counts, however long the call waited for its slot', async () => {
    const ran: unknown[] = [];
    const clock = createManualClock();
    const inner = createMemoryLedger({ clock });
    const ledger = alterLedger(inner, {
      rows: {
        // Called last before the intent is made.
        counters: (query) => {
          const counters = inner.query('counters', query);
          if (query.names.some((name) => name.includes('/grant/'))) clock.advance(1_000);
          return counters;
        },
      },
    });
    const runtime = createRuntime({ tools: [tool(ran)], ledger, clock });
    await runtime.grants.give({ ...everything, forMs: 1_000 });
    expect(await statusOf(runtime, 'a', 'delete_it')).toBe('held');
    expect(ran).toEqual([]);
  });
});

describe('[bound-approval] in any sequence of grants, revocations and calls', () => {
  type Given = {
    readonly tool: string;
    readonly most: number | undefined;
    readonly uses: number | undefined;
  };
  const tools = ['delete_a', 'delete_b'] as const;
  const step = fc.oneof(
    fc.record({
      do: fc.constant('grant' as const),
      tool: fc.constantFrom(...tools, 'delete_*', 'other'),
      most: fc.option(fc.nat(3), { nil: undefined }),
      forMs: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
      uses: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
    }),
    fc.record({ do: fc.constant('revoke' as const), at: fc.nat(9) }),
    fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 15 }) }),
    fc.record({
      do: fc.constant('call' as const),
      tool: fc.constantFrom(...tools),
      n: fc.option(fc.nat(4), { nil: undefined }),
    }),
    fc.record({ do: fc.constant('quiet' as const) }),
  );

  const means = (given: Given, tool: string, n: unknown): boolean =>
    (given.tool === tool || given.tool === 'delete_*') &&
    (given.most === undefined || (typeof n === 'number' && n <= given.most));

  /**
   * Reads the record in order: every call that started without a question has a grant that was valid then.
   */
  function check(
    events: readonly QuittanceEvent[],
    given: ReadonlyMap<string, Given>,
    ends: ReadonlyMap<string, number>,
  ) {
    const revoked = new Set<string>();
    const used = new Map<string, number>();
    const calls = new Map<string, { tool: string; n: unknown; grantId: string | undefined }>();
    for (const event of events) {
      if (event.type === 'grant.revoked') revoked.add(event.grantId);
      if (event.type === 'tool.requested')
        calls.set(event.callId, {
          tool: event.toolName,
          n: (event.requestedInput as JsonObject)['n'],
          grantId: undefined,
        });
      if (event.type === 'tool.decided') {
        const call = calls.get(event.callId);
        if (call !== undefined) call.grantId = event.grantId;
      }
      if (event.type !== 'tool.started') continue;
      const call = calls.get(event.callId);
      const grantId = call?.grantId ?? 'none';
      const grant = given.get(grantId);
      used.set(grantId, (used.get(grantId) ?? 0) + 1);
      expect({
        known: grant !== undefined,
        revoked: revoked.has(grantId),
        inTime: event.at < (ends.get(grantId) ?? Number.POSITIVE_INFINITY),
        meant: grant !== undefined && means(grant, call?.tool ?? '', call?.n),
        left: (used.get(grantId) ?? 0) <= (grant?.uses ?? Number.POSITIVE_INFINITY),
      }).toEqual({ known: true, revoked: false, inTime: true, meant: true, left: true });
    }
  }

  it('[bound-approval] a call runs without a question only under a matching grant that has not ended, been revoked or been used up', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const clock = createManualClock();
        const { runtime } = setStage({
          clock,
          tools: tools.map((name) => defineTool({ name, loopLimit: 1_000, run: () => 'gone' })),
        });
        const given = new Map<string, Given>();
        const ends = new Map<string, number>();
        const pending: Promise<unknown>[] = [];
        for (const [index, each] of steps.entries())
          switch (each.do) {
            case 'grant': {
              const { tool, most, forMs, uses } = each;
              const { grantId, until } = await runtime.grants.give({
                sessionId: 's',
                toolName: tool,
                by: 'ada',
                ...(most !== undefined && { where: { 'args.n': { lte: most } } }),
                ...(forMs !== undefined && { forMs }),
                ...(uses !== undefined && { uses }),
              });
              given.set(grantId, { tool, most, uses });
              if (until !== undefined) ends.set(grantId, until);
              break;
            }
            case 'revoke': {
              const grantId = [...given.keys()][each.at];
              if (grantId !== undefined)
                pending.push(runtime.grants.revoke({ sessionId: 's', grantId, by: 'bob' }));
              break;
            }
            case 'advance':
              clock.advance(each.ms);
              break;
            case 'call': {
              const args = each.n === undefined ? {} : { n: each.n };
              const handle = runtime.turn({ sessionId: 's' }).submit(envelope(`c${index}`, each.tool, args));
              void handle.outcome().catch(() => undefined);
              break;
            }
            case 'quiet':
              await quiet();
              break;
            default:
              each satisfies never;
          }
        await Promise.all(pending);
        for (let n = 0; n < 3; n++) await quiet();
        check(await runtime.events.list({ sessionId: 's' }), given, ends);
        // A call that a grant covers is not held: the person who granted it is not asked needlessly.
        const covers = (await runtime.grants.list({ sessionId: 's', active: true })).some(({ grantId }) =>
          means(given.get(grantId) as Given, 'delete_a', 1),
        );
        expect(await statusOf(runtime, 'last', 'delete_a', { n: 1 })).toBe(covers ? 'settled' : 'held');
      }),
      { numRuns: 150 },
    );
  });
});

describe('[bound-approval] a grant that was given without a permission check', () => {
  it('[bound-approval] permits nothing if its giver lacks the permission, and everything it states otherwise', async () => {
    const ledger = createMemoryLedger();
    let runs = 0;
    const tools = [defineTool({ name: 'delete_it', run: () => ++runs })];
    const careless = createRuntime({ tools, ledger });
    const strict = createRuntime({ tools, ledger, mayGrant: (actor) => actor === 'ada' });
    await careless.grants.give({ ...everything, by: 'eve' });
    expect(await statusOf(strict, 'a', 'delete_it')).toBe('held');
    expect(runs).toBe(0);
    await careless.grants.give(everything);
    expect(await statusOf(strict, 'b', 'delete_it')).toBe('settled');
    expect(runs).toBe(1);
  });

  it('[bound-approval] is compared with the body’s input: a default that the model left out', async () => {
    const { runtime } = setStage({
      tools: [
        defineTool({
          name: 'delete_it',
          input: z.object({ all: z.boolean().default(true) }),
          run: () => 'gone',
        }),
      ],
    });
    await runtime.grants
      .give({ ...everything, where: { not: { 'args.all': { equals: true } } } })
      .catch(() => undefined);
    await runtime.grants.give({ ...everything, where: { 'args.all': { equals: false } } });
    expect(await statusOf(runtime, 'a', 'delete_it', {})).toBe('held');
    expect(await statusOf(runtime, 'b', 'delete_it', { all: false })).toBe('settled');
  });

  it('[bound-approval] is compared with the body’s input: a value that the schema changes', async () => {
    const dir = z.string().transform((given) => (given === 'here' ? '/there' : given));
    const { runtime } = setStage({
      tools: [defineTool({ name: 'delete_it', input: z.object({ dir }), run: () => 'gone' })],
    });
    await runtime.grants.give({ ...everything, where: { 'args.dir': { equals: 'here' } } });
    expect(await statusOf(runtime, 'a', 'delete_it', { dir: 'here' })).toBe('held');
    await runtime.grants.give({ ...everything, where: { 'args.dir': { equals: '/there' } } });
    expect(await statusOf(runtime, 'b', 'delete_it', { dir: 'here' })).toBe('settled');
  });
});
