/** A process that sends notifications about the calls on a ledger, until it is killed. */
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { readNotifications, startNotifications } from '@quittance/server/notifications';

/** The instructions from the test. */
export type Errand = {
  readonly ledger: string;
  readonly settings: string;
  /** Ids of calls to hold. */
  readonly calls: readonly string[];
};

const { ledger, settings, calls } = JSON.parse(process.argv[2] ?? '{}') as Errand; // written by the test
const pay = defineTool({ name: 'pay', mode: 'destructive', run: () => 'paid' });
const runtime = createRuntime({ tools: [pay], ledger: await openLedger(ledger) });
startNotifications({ runtime, settings: readNotifications(settings, 'n.yaml', () => undefined) });
const turn = runtime.turn({ sessionId: 's' });
for (const id of calls) void turn.call({ id, name: 'pay', arguments: { id } }).catch(() => undefined);
setInterval(() => undefined, 1_000);
