/** Shared by the tests of the runtime: a runtime on a manual clock, and readers of its record. */
import type { AnyTool, Runtime, ToolCallInput, Turn } from 'quittance';
import type { QuittanceEvent } from 'quittance/events';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, outcomeToModelContent } from 'quittance';
import { checkAuditOrder, foldCall } from 'quittance/events';
import { createMemoryLedger } from 'quittance/ledger';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { expect } from 'vitest';

type CreateOptions<Tools extends readonly AnyTool[]> = Parameters<typeof createRuntime<Tools>>[0];

export type Stage<Tools extends readonly AnyTool[]> = {
  readonly clock: ManualClock;
  readonly ledger: OpenLedger;
  readonly runtime: Runtime<Tools>;
  readonly turn: Turn<Tools>;
};

/** A runtime and a turn of the session `s`. */
export function setStage<const Tools extends readonly AnyTool[]>(
  options: Omit<CreateOptions<Tools>, 'clock' | 'ledger'> & {
    readonly clock?: ManualClock;
    readonly ledger?: OpenLedger;
  },
): Stage<Tools> {
  const { clock = createManualClock(), ledger = createMemoryLedger({ clock }) } = options;
  const runtime = createRuntime<Tools>({ ...options, clock, ledger } as CreateOptions<Tools>);
  return { clock, ledger, runtime, turn: runtime.turn({ sessionId: 's' }) };
}

/** The envelope of a call. */
export const envelope = (
  id: string,
  name: string,
  args: Readonly<Record<string, unknown>> | string = {},
): ToolCallInput => ({ id, name, arguments: args });

/** Lets everything run that waits only for promises. */
export const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A promise with its resolvers. */
export const deferred = <Value = void>(): PromiseWithResolvers<Value> => Promise.withResolvers<Value>();

type Reads = Pick<Runtime, 'events' | 'calls'>;

/** The names of the events of one call, in order. */
export const eventTypes = async (runtime: Reads, callId: string, sessionId = 's'): Promise<string[]> =>
  (await runtime.events.list({ sessionId, callId })).map(({ type }) => type);

/** The kinds of the audit records of one call, in order. */
export const auditKinds = async (runtime: Reads, callId: string, sessionId = 's'): Promise<string[]> =>
  (await runtime.calls.audit({ sessionId, callId })).map(({ outcome }) => outcome.kind);

/**
 * Every call of the session that is not held has exactly one final outcome, whose content is what its model
 * got. Its events fold to the shown call, and its audit records are in a legal order.
 */
export async function expectSettledOnce(runtime: Reads, sessionId = 's'): Promise<void> {
  const events = await runtime.events.list({ sessionId });
  expect(JSON.parse(JSON.stringify(events))).toHaveLength(events.length);
  const calls = await runtime.calls.list({ sessionId });
  const records = await runtime.calls.audit({ sessionId });
  for (const call of calls) {
    const own = events.filter((event) => 'callId' in event && event.callId === call.callId);
    const ends = own.filter((event) => event.type === 'tool.responded' && event.final);
    const told = call.settled && outcomeToModelContent(call.settled.outcome);
    expect({
      callId: call.callId,
      ends: ends.length,
      status: call.status,
      content: call.settled?.content,
    }).toEqual({
      callId: call.callId,
      ends: 1,
      status: 'settled',
      content: told,
    });
    expect(foldCall(own as Parameters<typeof foldCall>[0])).toEqual(call);
    const kinds = records.filter(({ callId }) => callId === call.callId).map(({ outcome }) => outcome.kind);
    expect([call.callId, checkAuditOrder(kinds, { settled: true })]).toEqual([call.callId, { ok: true }]);
  }
}

/** The events of one type. */
export async function eventsOf<Type extends QuittanceEvent['type']>(
  runtime: Reads,
  type: Type,
  sessionId = 's',
): Promise<readonly Extract<QuittanceEvent, { type: Type }>[]> {
  const events = await runtime.events.list({ sessionId });
  return events.filter((event): event is Extract<QuittanceEvent, { type: Type }> => event.type === type);
}
