/** A ledger whose every answer is a system error: a caller gets an error of this package, or an outcome. */
import { createRuntime, defineTool, isQuittanceError, ToolDecision, ToolError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { Runtime, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { contractsFromYamlString } from 'quittance/contracts';
import { expect, it } from 'vitest';
import { envelope } from './stage.ts';
import { interceptLedger } from './alter-ledger.ts';

type Failing = { readonly ledger: OpenLedger; readonly fail: (how: 'throws' | 'rejects') => void };

/** Fails like a disk that went away: with bare system errors, from every method that may. */
function failingLedger(): Failing {
  const memory = createMemoryLedger();
  let fails: 'throws' | 'rejects' | undefined;
  const error = (): Error =>
    Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
  const never = new Set(['now', 'close', 'inspect']);
  const rejects = new Set(['whenChanged']);
  const ledger = interceptLedger(memory, (name, proceed) => {
    if (fails === undefined || never.has(name)) return proceed();
    if (fails === 'throws' && !rejects.has(name)) throw error();
    return Promise.reject(error());
  });
  return { ledger, fail: (how) => (fails = how) };
}

const call = { sessionId: 's', callId: 'c' };

/** Claimed while the ledger still worked. */
const tokens = new WeakMap<Runtime, Promise<string>>();
const tokenOf = async (runtime: Runtime): Promise<string> => (await tokens.get(runtime)) ?? '';

/** Every public method of a runtime that needs the ledger. */
const asked: Readonly<Record<string, (runtime: Runtime) => Promise<unknown>>> = {
  'turn.call': (runtime) => runtime.turn({ sessionId: 's' }).call(envelope('new', 'pay', { n: 2 })),
  'turn.call of a known id': (runtime) =>
    runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay', { n: 1 })),
  'turn.callAll': (runtime) => runtime.turn({ sessionId: 's' }).callAll([envelope('all', 'pay', { n: 3 })]),
  'turn.submit': (runtime) =>
    runtime.turn({ sessionId: 's' }).submit(envelope('sub', 'pay', { n: 4 })).accepted,
  'submitted outcome': (runtime) =>
    runtime
      .turn({ sessionId: 's' })
      .submit(envelope('sub2', 'pay', { n: 5 }))
      .outcome(),
  'turn.run': (runtime) =>
    (runtime.turn({ sessionId: 's' }).run as Record<string, (args: unknown) => Promise<unknown>>)['pay']?.({
      n: 6,
    }) ?? Promise.resolve(),
  'turn.end': (runtime) => Promise.resolve(runtime.turn({ sessionId: 's' }).end()),
  'calls.list': (runtime) => runtime.calls.list({ sessionId: 's' }),
  'calls.audit': (runtime) => runtime.calls.audit({ sessionId: 's' }),
  'events.list': (runtime) => runtime.events.list({ sessionId: 's' }),
  recover: (runtime) => runtime.recover(),
  'confirmations.list': (runtime) => runtime.confirmations.list(),
  'confirmations.decide': (runtime) =>
    runtime.confirmations.decide('cnf_1', { decision: 'approve', by: 'ada', inputDigest: 'd' }),
  'confirmations.link': (runtime) => runtime.confirmations.link('cnf_1', { by: 'ada', expiresInMs: 1_000 }),
  'grants.give': (runtime) =>
    runtime.grants.give({ sessionId: 's', toolName: 'pay', by: 'ada', forMs: 1_000 }),
  'grants.list': (runtime) => runtime.grants.list({ sessionId: 's' }),
  'grants.revoke': (runtime) => runtime.grants.revoke({ sessionId: 's', grantId: 'g', by: 'ada' } as never),
  'handoffs.list': (runtime) => runtime.handoffs.list(),
  'handoffs.claim of a tool': (runtime) => runtime.handoffs.claim({ toolName: 'ship' }, { worker: 'w' }),
  'handoffs.claim of a call': (runtime) => runtime.handoffs.claim(call, { worker: 'w' }),
  'calls.undo': (runtime) => runtime.calls.undo(call, { by: 'ada' }),
  'calls.reconcile': (runtime) => runtime.calls.reconcile(call, { resolution: 'failed', by: 'ada' }),
  'calls.unresolved': (runtime) => runtime.calls.unresolved(),
  'calls.errors': (runtime) => runtime.calls.errors(),
  'workflow.state': (runtime) => runtime.workflow({ sessionId: 's' }).state(),
  'workflow.setStage': (runtime) =>
    runtime.workflow({ sessionId: 's' }).setStage({ stageId: 'one', by: 'ada' }),
  'handoffs.report': async (runtime) => runtime.handoffs.report(await tokenOf(runtime), { output: 1 }),
  'handoffs.reportAll': async (runtime) => {
    const [answer] = await runtime.handoffs.reportAll([
      { token: await tokenOf(runtime), report: { output: 1 } },
    ]);
    if (answer?.ok === false) throw answer.error;
  },
  'events.tail': (runtime) => runtime.events.tail()[Symbol.asyncIterator]().next(),
  'behavior caughtUp': (runtime) =>
    runtime.events.on({ name: 'b', on: 'tool.responded' }, () => undefined).caughtUp(),
};

/** The code of an error of this package; `turn.run` throws the outcome as a `ToolError`. */
const codeOf = (error: unknown): string | undefined =>
  isQuittanceError(error) ? error.code : error instanceof ToolError ? error.reason : undefined;

async function claim(runtime: Runtime): Promise<string> {
  for (;;) {
    const claimed = await runtime.handoffs.claim({ toolName: 'ship' }, { worker: 'w' });
    if (claimed !== undefined) return claimed.token;
  }
}

const codeOfOutcome = (outcome: ToolOutcome): string => ('code' in outcome ? outcome.code : outcome.type);

const isOutcome = (value: unknown): value is ToolOutcome =>
  typeof value === 'object' && value !== null && 'type' in value;

it.each(Object.keys(asked).flatMap((name) => [[name, 'throws'] as const, [name, 'rejects'] as const]))(
  '[nothing-lost] %s on a ledger that %s bare errors answers with ours',
  async (name, how) => {
    const { ledger, fail } = failingLedger();
    const runtime = createRuntime({
      ledger,
      tools: [
        defineTool({ name: 'pay', mode: 'external', run: () => 'paid' }),
        defineTool({ name: 'ship', mode: 'external', handoff: true }),
      ],
      onPreToolUse: () => ToolDecision.allow,
      onTrouble: () => undefined,
      contracts: contractsFromYamlString(
        'apiVersion: edictum/v1\nkind: Workflow\nmetadata: { name: w, version: "1" }\nstages:\n  - { id: one, tools: ["*"] }\n',
      ),
    }) as unknown as Runtime;
    await runtime.turn({ sessionId: 's' }).call(envelope('c', 'pay', { n: 1 }));
    void runtime
      .turn({ sessionId: 's' })
      .submit(envelope('far', 'ship'))
      .outcome()
      .catch(() => undefined);
    tokens.set(runtime, claim(runtime));
    await tokenOf(runtime);
    fail(how);
    const codes = await (async () => asked[name]?.(runtime))().then(
      (value) => [value].flat().filter(isOutcome).map(codeOfOutcome),
      (error: unknown) => [codeOf(error) ?? String(error)],
    );
    expect(codes).toEqual(codes.map(() => 'ledger.unavailable'));
  },
);
