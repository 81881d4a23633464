/**
 * The runtime of a worker for `quittance handoff --runtime`. As `hand-over LEDGER` it hands off a call, as
 * `make LEDGER` it makes an empty ledger.
 */
import type { Runtime } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';

const render = defineTool({
  name: 'render_video',
  mode: 'external',
  input: {
    type: 'object',
    properties: { scene: { type: 'string' }, password: { type: 'string' } },
    required: ['scene'],
  },
  handoff: true,
  timeoutMs: 60_000,
});

export default function makeRuntime(ledger: OpenLedger): Runtime {
  return createRuntime({ tools: [render], ledger });
}

if (process.argv[2] === 'hand-over') {
  const ledger = await openLedger(process.argv[3] ?? '');
  const turn = makeRuntime(ledger).turn({ sessionId: 'film' });
  const input = { scene: 'dawn', password: 'correct horse' };
  const outcome = await turn.call({ id: 'call_render', name: 'render_video', arguments: input });
  console.log(JSON.stringify(outcome));
  await ledger.close();
}

if (process.argv[2] === 'make') {
  const ledger = await openLedger(process.argv[3] ?? '');
  await makeRuntime(ledger)
    .turn({ sessionId: 'film' })
    .call({ id: 'call_none', name: 'none', arguments: {} });
  await ledger.close();
  console.log('{}');
}
