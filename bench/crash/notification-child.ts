/** A process of the notification rounds: it holds calls and sends messages about them, or is the successor. */
import { lookup } from 'node:dns';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime, defineTool } from 'quittance';
import type { QuittanceEvent } from 'quittance/events';
import { openLedger } from 'quittance/ledger';
import { readNotifications, startNotifications } from '@quittance/server/notifications';
import type { OpenLedger } from 'quittance/store';
import { alterLedger } from '../../test/alter-ledger.ts';
import type { NotificationErrand, NotificationPoint } from './points.ts';
import { lastPosition } from '../../packages/quittance/src/ledger/reads.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as NotificationErrand; // written by the parent process
let visits = 0;

/** Kills the process if this is the chosen point, on the chosen visit. */
function meet(point: NotificationPoint): void {
  if (errand.point === point && visits++ === errand.nth) process.kill(process.pid, 'SIGKILL');
}

/** The same ledger, with crash points around appends. */
function mined(ledger: OpenLedger): OpenLedger {
  const append: OpenLedger['append'] = async (entry) => {
    const has = (type: string): boolean => entry.events.some((event) => (event.type as string) === type);
    if (has('notification.sent')) meet('record: before append');
    if (has('behavior.failed')) meet('failure: before record');
    if (has('confirmation.reminded')) meet('reminder: before record');
    const result = await ledger.append(entry);
    if (has('tool.held')) meet('hold: after hold');
    if (has('notification.sent')) meet('record: after append');
    if (has('behavior.failed')) meet('failure: after record');
    if (has('retry.requested')) meet('failure: after request');
    if (has('confirmation.reminded')) meet('reminder: after record');
    return result;
  };
  const setCursor: OpenLedger['setCursor'] = async (change) => {
    if (change.expected === undefined) {
      // Long enough for the calls to be held, if they did not wait.
      if (errand.point === 'start: before position') await sleep(500);
      meet('start: before position');
    }
    return ledger.setCursor(change);
  };
  return alterLedger(ledger, { append, setCursor });
}

const ledger = mined(await openLedger(errand.ledger));
const pay = defineTool({ name: 'pay', mode: 'destructive', run: () => 'paid' });
const runtime = createRuntime({ tools: [pay], ledger });
const notifications = startNotifications({
  runtime,
  settings: readNotifications(errand.settings, 'notifications.yaml', () => undefined),
  lookup: (name, options, done) => {
    meet('message: before connection');
    lookup(name, options, done);
  },
});
const turn = runtime.turn({ sessionId: errand.sessionId });
for (let index = 0; index < errand.calls; index++)
  void turn.call({ id: `c${index}`, name: 'pay', arguments: { index } }).catch(() => undefined);

const list = (): Promise<readonly QuittanceEvent[]> => runtime.events.list({ sessionId: errand.sessionId });
const count = (events: readonly QuittanceEvent[], type: string): number =>
  events.filter((event) => (event.type as string) === type).length;
const isDone = (events: readonly QuittanceEvent[]): boolean =>
  count(events, 'notification.sent') >= count(events, 'tool.held') * errand.messages;

/**
 * Has every event been handled that was stored so far, and did that store no further event? Then a message that is
 * still missing is lost: waiting longer cannot help. Retries that are due later keep their behavior from being done.
 */
async function isOver(): Promise<boolean> {
  const before = await lastPosition(ledger);
  await notifications.caughtUp();
  const events = await list();
  if (isDone(events)) return true;
  const isReminded = count(events, 'confirmation.reminded') >= count(events, 'tool.held');
  return isReminded && (await lastPosition(ledger)) === before;
}

// The first process runs until it is killed; if it never is, the parent says so.
const end = Date.now() + 240_000;
while ((errand.point !== undefined || !(await isOver())) && Date.now() < end) await sleep(20);
process.send?.(await list());
await notifications.close();
await runtime.close();
await ledger.close();
process.disconnect();
