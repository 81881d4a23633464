/**
 * A process that retries calls and follows them with a behavior, and its successor. The first attempt of every call
 * fails before its effect and reports that. The effects must not happen twice.
 */
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, retry, ToolError } from 'quittance';
import { openLedger } from 'quittance/ledger';
import type { RetryErrand, RetryPoint } from './points.ts';
import { alterLedger } from '../../test/alter-ledger.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as RetryErrand; // written by the parent process
let met = 0;

/** Kills the process if this is the chosen point and call. */
function meet(point: RetryPoint): void {
  if (errand.point === point && met++ === errand.nth) process.kill(process.pid, 'SIGKILL');
}

const effect = async (key: string): Promise<void> => {
  await fetch(`${errand.service}/?key=${encodeURIComponent(`${errand.sessionId}/${key}`)}`, {
    method: 'POST',
  });
};

const act = defineTool({
  name: 'act',
  mode: 'external',
  run: async (_, { callId, attempt }) => {
    if (attempt === 1) throw new ToolError('tool.network_error', 'the door is closed', { retryable: true });
    await effect(callId);
    meet('retry: after next effect');
    return { done: callId };
  },
});
const note = defineTool({
  name: 'note',
  mode: 'external',
  run: async ({ about }) => {
    await effect(`note ${typeof about === 'string' ? about : ''}`);
    return 'noted';
  },
});

/** The same ledger, with crash points around each append. */
function mined(ledger: OpenLedger): OpenLedger {
  const append: OpenLedger['append'] = async (entry) => {
    const types = entry.events.map(({ type }) => type as string);
    const failed = entry.events.some(
      (event) => event.type === 'tool.responded' && 'final' in event && !event.final,
    );
    const next = entry.events.some(
      (event) => event.type === 'tool.started' && 'attempt' in event && Number(event.attempt) > 1,
    );
    if (types.includes('work.followed')) meet('behavior: before emission');
    const result = await ledger.append(entry);
    if (failed) meet('retry: after failure');
    if (types.includes('retry.requested')) meet('retry: after request');
    if (next) meet('retry: after next intent');
    if (types.includes('work.followed')) meet('behavior: after emission');
    return result;
  };
  return alterLedger(ledger, { append });
}

const { sessionId } = errand;
const ledger = mined(await openLedger(errand.ledger));
const runtime = createRuntime({ tools: [act, note], ledger, behaviors: [retry({ initialMs: 5 })] });
const follow = runtime.events.on(
  { name: 'follow', on: 'tool.responded', where: { 'outcome.toolName': 'act', final: true }, from: 'start' },
  async (event, context) => {
    await context.call({ name: 'note', arguments: { about: event.callId } });
    meet('behavior: after its call');
    context.emit('work.followed', {});
  },
);
if (errand.point === undefined) await runtime.recover();
const turn = runtime.turn({ sessionId });
const outcomes = await Promise.all(
  Array.from({ length: errand.calls }, (_, index) =>
    turn.call({ id: `c${index}`, name: 'act', arguments: { index } }),
  ),
);
await follow.caughtUp();
const followed: Record<string, number> = {};
const excused: Record<string, number> = {};
for (const event of await runtime.events.list({ sessionId })) {
  if ((event.type as string) === 'work.followed' && 'callId' in event)
    followed[event.callId] = (followed[event.callId] ?? 0) + 1;
  // A behavior whose own call was lost with the process reports that, and has nothing to emit.
  if (event.type === 'behavior.failed' && event.reason === 'tool.indeterminate')
    excused[event.triggeringCallId ?? ''] = 1;
}
await runtime.close();
await ledger.close();
process.send?.({
  outcomes: Object.fromEntries(outcomes.map((outcome) => [outcome.callId, outcome])),
  followed,
  excused,
});
process.disconnect();
