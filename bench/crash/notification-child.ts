/** A process of the notification rounds: it holds calls and sends messages about them, or is the successor. */
import { lookup } from 'node:dns';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRuntime, defineTool } from 'quittance';
import type { QuittanceEvent } from 'quittance/events';
import { openLedger } from 'quittance/ledger';
import { readNotifications, startNotifications } from 'quittance/notifications';
import type { Ledger } from 'quittance/store';
import { alterLedger } from '../../test/alter-ledger.ts';
import type { NotificationErrand, NotificationPoint } from './points.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as NotificationErrand; // written by the parent process
let visits = 0;

/** Kills the process if this is the chosen point, on the chosen visit. */
function meet(point: NotificationPoint): void {
  if (errand.point === point && visits++ === errand.nth) process.kill(process.pid, 'SIGKILL');
}

/** The same ledger, with crash points around appends. */
function mined(ledger: Ledger): Ledger {
  const append: Ledger['journal']['append'] = async (entry) => {
    const has = (type: string): boolean => entry.events.some((event) => (event.type as string) === type);
    if (has('notification.sent')) meet('record: before append');
    if (has('behavior.failed')) meet('failure: before record');
    if (has('confirmation.reminded')) meet('reminder: before record');
    const result = await ledger.journal.append(entry);
    if (has('tool.held')) meet('hold: after hold');
    if (has('notification.sent')) meet('record: after append');
    if (has('behavior.failed')) meet('failure: after record');
    if (has('retry.requested')) meet('failure: after request');
    if (has('confirmation.reminded')) meet('reminder: after record');
    return result;
  };
  return alterLedger(ledger, { journal: { append } });
}

const ledger = mined(await openLedger(errand.ledger));
const pay = defineTool({ name: 'pay', mode: 'local', run: () => 'paid' });
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
  events.length > 0 && count(events, 'notification.sent') >= count(events, 'tool.held') * errand.messages;

// The first process runs until it is killed; if it never is, the parent says so. Back-offs take up to half a minute.
let events = await list();
for (const end = Date.now() + 240_000; !isDone(events) && Date.now() < end; await sleep(20))
  events = await list();
await notifications.caughtUp();
process.send?.(await list());
await notifications.close();
await runtime.close();
await ledger.close();
process.disconnect();
