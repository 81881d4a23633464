/**
 * A behavior retries a call after a transient failure, and another behavior raises an alarm if the retry fails too.
 * Both act through events of the ledger, so everything is recorded.
 */
import assert from 'node:assert/strict';
import { createRuntime, defineTool, retry, ToolError } from 'quittance';

const outages = new Map([
  ['EUR', 1],
  ['GBP', 9],
]);
const rates = defineTool({
  name: 'get_rate',
  mode: 'read',
  run: (args) => {
    const { currency } = args as { currency: string };
    const left = outages.get(currency) ?? 0;
    outages.set(currency, left - 1);
    if (left > 0) throw new ToolError('tool.network_error', `the bank does not answer for ${currency}`);
    return { currency, rate: 1.09 };
  },
});

const runtime = createRuntime({
  tools: [rates],
  behaviors: [retry({ attempts: 3, initialMs: 5 })],
});
const alarms: string[] = [];
const alarm = runtime.events.on(
  { name: 'alarm', on: 'tool.responded', where: { final: true, 'error.reason': { prefix: 'tool.' } } },
  (event) => void alarms.push(`${event.callId} failed after ${event.attempt} attempts`),
);

const turn = runtime.turn({ sessionId: 'desk-7' });
const euro = await turn.call({ id: 'c1', name: 'get_rate', arguments: { currency: 'EUR' } });
const pound = await turn.call({ id: 'c2', name: 'get_rate', arguments: { currency: 'GBP' } });
await alarm.caughtUp();

assert.equal(euro.type, 'ToolExecutionResult');
assert.equal(pound.type, 'ToolFailure');
assert.deepEqual(alarms, ['c2 failed after 3 attempts']);
const asked = (await runtime.events.list({ sessionId: 'desk-7' })).filter(
  (event) => event.type === 'retry.requested',
);
assert.equal(asked.length, 3);
await runtime.close();
console.log(`EUR came on the second attempt; ${alarms.join()}`);
