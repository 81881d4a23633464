/** Makes calls until its parent stops it. Reports the time of every success. */
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import type { FailoverErrand, FailoverTold } from './errand.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as FailoverErrand; // written by the parent process
const tell = (told: FailoverTold): void => void process.send?.(told);

const ledger = await openLedger(errand.ledger, { outageWaitMs: 30_000 });
const runtime = createRuntime({
  ledger,
  tools: [
    defineTool({
      name: 'act',
      mode: 'external',
      loopLimit: 1_000_000,
      rerun: 'allow',
      run: async (_, { callId }) => {
        const key = encodeURIComponent(`${errand.sessionId}/${callId}`);
        await fetch(`${errand.service}/?key=${key}`, { method: 'POST' });
        return { done: callId };
      },
    }),
  ],
});

let isStopped = false;
let made = 0;
const answers: Record<string, string> = {};

async function work(_: unknown, lane: number): Promise<void> {
  const turn = runtime.turn({ sessionId: errand.sessionId });
  while (!isStopped) {
    const callId = `c${made++}`;
    const outcome = await turn.call({ id: callId, name: 'act', arguments: { callId, lane } });
    answers[callId] =
      outcome.type === 'ToolExecutionResult' ? 'succeeded' : 'code' in outcome ? outcome.code : outcome.type;
    if (outcome.type === 'ToolExecutionResult') tell({ type: 'succeeded', at: Date.now() });
  }
}

process.once('message', () => {
  isStopped = true;
});
tell({ type: 'ready' });
await Promise.all(Array.from({ length: errand.lanes }, work));
await runtime.close();
await ledger.close();
tell({ type: 'ended', answers });
process.disconnect();
