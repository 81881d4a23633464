/** Runs the agent once: `npm start`. */
import { runAgent } from './agent.ts';
import { openProjectLedger } from './ledger.ts';
import { governProject } from './quittance.ts';

const ledger = await openProjectLedger();
const governed = await governProject(ledger);
const sessionId = crypto.randomUUID();

governed.runtime.events.on({ name: 'report-held-calls', on: 'tool.held', where: { sessionId } }, (event) =>
  console.log(`${event.callId} awaits approval. Open the console: npm run console`),
);

console.log(await runAgent(governed, sessionId));
for (const { callId, outcome, decidedBy } of await governed.runtime.calls.audit({ sessionId }))
  console.log(callId, outcome.kind, decidedBy?.name ?? '');

await governed.runtime.close();
await ledger.close();
