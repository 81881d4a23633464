/**
 * `node main.ts [FOLDER JOB]`: does a job in a folder. With MODEL it uses that model; without, a scripted model corrects a
 * sample project.
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openLedger } from 'quittance/ledger';
import { doJob } from './agent.ts';
import { governCoding } from './quittance.ts';
import { sampleJob, sampleModel, writeSample } from './sample-job.ts';

const [folder = join(import.meta.dirname, 'sample'), job = sampleJob] = process.argv.slice(2);
const model = process.env['MODEL'];
if (model === undefined) writeSample(folder);
const own = join(import.meta.dirname, '.quittance'); // outside of the folder that the agent writes
mkdirSync(own, { recursive: true });
const ledger = await openLedger(process.env['QUITTANCE_LEDGER'] ?? join(own, 'ledger.db'));
const coding = await governCoding(ledger, resolve(folder));
coding.runtime.events.on({ name: 'held', on: 'tool.held' }, ({ callId }) =>
  console.log(`${callId} awaits approval: PROJECT=${resolve(folder)} npm run console`),
);
const sessionId = `job-${Date.now()}`;
console.log(await doJob(coding, job, sessionId, model ?? sampleModel()));
for (const { callId, toolName, settled } of await coding.runtime.calls.list({ sessionId }))
  console.log(`${callId}  ${toolName}: ${settled?.outcome.type ?? 'open'}`);
await coding.runtime.close();
await ledger.close();
