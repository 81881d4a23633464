/** A process that makes calls while its server or its network fails, or one that comes after it. */
import { createRuntime, defineTool } from 'quittance';
import type { ToolOutcome } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import type { ServerErrand } from './points.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as ServerErrand; // written by the parent process
const { part, sessionId } = errand;

const act = defineTool({
  name: 'act',
  mode: 'external',
  loopLimit: 1_000_000,
  rerun: 'allow',
  run: async (_, { callId }) => {
    await fetch(`${errand.service}/?key=${encodeURIComponent(`${sessionId}/${callId}`)}`, { method: 'POST' });
    return { done: callId };
  },
});

const ledger = await openLedger(errand.ledger, { outageWaitMs: 3_000 });
const runtime = createRuntime({ ledger, tools: [act] });
const outcomes: Record<string, ToolOutcome> = {};
let next = 0;

async function work(): Promise<void> {
  const turn = runtime.turn({ sessionId });
  for (let n = next++; n < errand.calls; n = next++) {
    const id = `c${n}`;
    outcomes[id] = await turn.call({ id, name: 'act', arguments: { n } });
    if (part === 'first') process.send?.({ done: Object.keys(outcomes).length });
  }
}

if (part === 'recoverer') {
  process.send?.('ready');
  process.on('message', () => {
    void runtime.recover().then(() => process.send?.('recovered'));
  });
} else {
  if (part === 'after') await runtime.recover();
  await Promise.all(Array.from({ length: errand.lanes }, work));
  const findings = part === 'after' ? await verify() : 0;
  await runtime.close();
  await ledger.close();
  process.send?.({ outcomes, findings });
  process.disconnect();
}

async function verify(): Promise<number> {
  let findings = 0;
  const quiet = { step: () => undefined, done: () => undefined };
  const options = { signal: new AbortController().signal, startProgress: () => quiet };
  await verifyLedger(ledger, undefined, options, async (finding) => {
    findings++;
    process.stderr.write(`\n${JSON.stringify(finding)}\n`);
  });
  return findings;
}
