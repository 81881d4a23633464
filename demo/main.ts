/**
 * `npm run tour`: a scripted agent, without a model or an API key, shows every way a tool call can end. The tools are
 * real: files in a separate folder, a service on this machine, the clock.
 */
import { createRuntime } from 'quittance';
import { hooks, repair } from './hooks.ts';
import { scenes } from './scenes.ts';
import { playAll } from './stage.ts';
import { printNextSteps, summarize } from './summary.ts';
import { print, printHeading } from './table.ts';
import { wrap } from '../packages/cli/src/text-width.ts';
import { pageWidth, paint } from './terminal.ts';
import { createTools } from './tools.ts';
import { openWorld } from './world.ts';

// Exiting this way runs the cleanup of the world, which is an exit handler.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
process.once('SIGHUP', () => process.exit(129));
process.stdout.on('error', () => process.exit(0)); // the reader ended, as in `npm start | head`

const startedAt = performance.now();
setTimeout(() => {
  console.error('Not as scripted. The demo should end after a second, but is still running after 30.');
  process.exit(1);
}, 30_000).unref();
print('');
print(paint('bold', 'Quittance settles the tool calls of agents.'));
for (const line of wrap(
  'A scripted agent makes requests as a model would. The files, the service and the clock are real; there is no model and no API key. Every call ends in exactly one outcome, and everything is recorded.',
  pageWidth(),
))
  print(line);
print('');
printHeading();

const world = await openWorld();
const runtime = createRuntime({
  tools: createTools(world),
  ledger: world.ledger,
  onPreToolUse: hooks,
  onConfirm: () => world.ada.answer(),
  repair,
  cancelGraceMs: 20,
});
const report = await playAll(scenes, runtime, world);
await runtime.close();
await world.close();

print('');
print(paint('dim', '─'.repeat(pageWidth())));
const missing = await summarize(report, runtime, performance.now() - startedAt);
const failures = [...report.failures, ...missing];
if (failures.length === 0) printNextSteps();
for (const failure of failures) console.error(`Not as scripted. ${failure}`);
process.exitCode = failures.length === 0 ? 0 : 1;
print('');
