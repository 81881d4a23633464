/**
 * A process of the hold rounds: it holds calls, decides them from outside, or is the successor. Even calls are
 * approved, odd ones denied.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import type { Runtime } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { openLedger } from 'quittance/ledger';
import type { HoldErrand, HoldPoint } from './points.ts';
import { alterLedger } from '../../test/alter-ledger.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as HoldErrand; // written by the parent process
const callIds = Array.from({ length: errand.calls }, (_, index) => `c${index}`);
const isWanted = (callId: string): boolean => Number(callId.slice(1)) % 2 === 0;
const met = new Map<HoldPoint, number>();

/** Kills the process if this is the chosen point and call. */
function meet(point: HoldPoint): void {
  const times = met.get(point) ?? 0;
  met.set(point, times + 1);
  if (errand.point === point && times === errand.nth) process.kill(process.pid, 'SIGKILL');
}

const remove = defineTool({
  name: 'delete_it',
  rerun: 'deny',
  run: async (_, { callId }) => {
    await fetch(`${errand.service}/?key=${encodeURIComponent(`${errand.sessionId}/${callId}`)}`, {
      method: 'POST',
    });
    return { done: callId };
  },
});

/** The same ledger, with crash points around appends and reads. */
function mined(ledger: OpenLedger): OpenLedger {
  const { part } = errand;
  const append: OpenLedger['append'] = async (entry) => {
    const has = (type: string): boolean => entry.events.some((event) => event.type === type);
    if (part === 'holder' && has('tool.held')) meet('holder: before hold');
    if (part === 'decider' && has('confirmation.decided')) meet('decider: before decision');
    if (part === 'holder' && has('tool.started')) meet('holder: before claim');
    const result = await ledger.append(entry);
    if (part === 'holder' && has('tool.held')) meet('holder: after hold');
    if (part === 'decider' && has('confirmation.decided')) {
      meet('decider: after decision');
      meet('both: after decision');
    }
    if (part === 'holder' && has('tool.started')) meet('holder: after claim');
    return result;
  };
  const whenChanged: OpenLedger['whenChanged'] = async (awaited) => {
    await ledger.whenChanged(awaited);
    if (part !== 'holder') return;
    meet('holder: after decision');
    // The decider is killed at the same moment.
    meet('both: after decision');
  };
  return alterLedger(ledger, { append, whenChanged });
}

const ask = (runtime: Runtime, id: string): Promise<unknown> =>
  runtime.turn({ sessionId: errand.sessionId }).call({ id, name: 'delete_it', arguments: { id } });

/** Decides every open confirmation, and reports it as soon as the decision is stored. */
async function answer(runtime: Runtime): Promise<void> {
  const { rows } = await runtime.confirmations.list({ status: 'pending', limit: 100 });
  await Promise.all(
    rows.map(async ({ confirmationId, callId, inputDigest }) => {
      const decision = isWanted(callId) ? 'approve' : 'deny';
      try {
        await runtime.confirmations.decide(confirmationId, { decision, by: 'ada', inputDigest });
      } catch (error) {
        // A killed process had already decided it: the first decision counts.
        if (!isQuittanceError(error, 'confirmation.decided')) throw error;
      }
    }),
  );
}

const ledger = mined(await openLedger(errand.ledger));
// The decider is an inbox: it does not have the tool.
const runtime = createRuntime({ tools: errand.part === 'decider' ? [] : [remove], ledger });

switch (errand.part) {
  case 'holder': {
    const asked = callIds.map((id) => ask(runtime, id));
    for (let held = 0; held < errand.calls; await sleep(5)) {
      const calls = await runtime.calls.list({ sessionId: errand.sessionId });
      held = calls.filter(({ confirmation }) => confirmation !== undefined).length;
    }
    process.send?.('held');
    await Promise.all(asked);
    break;
  }
  case 'decider':
    await answer(runtime);
    break;
  case 'after': {
    if (errand.calls > 0) await runtime.recover();
    const asked = Promise.all(callIds.map((id) => ask(runtime, id)));
    let isOver = false;
    const outcomes = asked.finally(() => (isOver = true));
    // Open and missing confirmations are decided now.
    for (; !isOver; await Promise.race([sleep(10), outcomes])) await answer(runtime);
    const told = (await outcomes) as readonly { readonly callId: string }[];
    const events = await runtime.events.list({ sessionId: errand.sessionId });
    process.send?.({
      outcomes: Object.fromEntries(told.map((outcome) => [outcome.callId, outcome])),
      questions: countByCall(events, 'tool.held'),
      decisions: countByCall(events, 'confirmation.decided'),
    });
  }
}
await runtime.close();
await ledger.close();
process.disconnect();

function countByCall(events: readonly object[], type: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const event of events as readonly { readonly type: string; readonly callId?: string }[])
    if (event.type === type && event.callId !== undefined)
      counts[event.callId] = (counts[event.callId] ?? 0) + 1;
  return counts;
}
