// The order of calls: a session moves from stage to stage, and each stage states its exit conditions.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import { contractsFromYaml } from 'quittance/contracts';
import { z } from 'zod';

let testsPass = false;
const commands: string[] = [];
const readFile = defineTool({
  name: 'read_file',
  input: z.object({ path: z.string() }),
  mode: 'read',
  run: ({ path }) => `what ${path} says`,
});
const editFile = defineTool({
  name: 'edit_file',
  input: z.object({ path: z.string(), text: z.string() }),
  mode: 'safe_write',
  run: ({ path }) => ({ changed: path }),
});
const runCommand = defineTool({
  name: 'run_command',
  input: z.object({ command: z.string() }),
  mode: 'safe_write',
  run: ({ command }) => {
    commands.push(command);
    return command === 'npm test' && !testsPass ? 'Error: 1 test failed' : 'ok';
  },
});

const contracts = await contractsFromYaml(join(import.meta.dirname, '15-workflow.yaml'), {
  // Maps tool arguments to evidence. `Read` and `Bash` need no such line.
  evidence: { read_file: { reads: ['path'] }, run_command: { command: 'command' } },
});
const runtime = createRuntime({
  tools: [readFile, editFile, runCommand],
  contracts,
  onConfirm: ({ description }) => {
    console.log(`Ada is asked: ${description}`);
    return { decision: 'approve', by: 'Ada' };
  },
});
const turn = runtime.turn({ sessionId: 'release-7' });
let calls = 0;
/** The result of a call: the text of a denial, or undefined. */
async function attempt(name: string, args: Record<string, string>): Promise<string | undefined> {
  const outcome = await turn.call({ id: `w${++calls}`, name, arguments: args });
  return outcome.type === 'ToolDenied' ? outcome.details : undefined;
}
const run = (command: string) => attempt('run_command', { command });
const edit = () => attempt('edit_file', { path: 'bread.ts', text: 'better bread' });
const workflow = runtime.workflow({ sessionId: 'release-7' });
const stage = async () => (await workflow.state()).activeStage;

// A call of a later stage tries to get there, and learns what is missing.
assert.equal(await edit(), 'Read plan.md first.');
assert.equal(await attempt('read_file', { path: 'plan.md' }), undefined);
assert.equal(await edit(), undefined);
assert.equal(await stage(), 'change');

// Only a success is evidence: failed tests unlock nothing.
assert.equal(await run('npm test'), undefined);
assert.equal(await run('git push origin better-bread'), 'The tests have to pass first.');
testsPass = true;
assert.equal(await run('npm test'), undefined);

// The next stage needs approval. With it the push is allowed, and nothing else is.
assert.equal(await run('git push origin better-bread'), undefined);
assert.equal(await stage(), 'push');
assert.equal(await run('git push origin main --force'), 'Only a push is left to do.');
assert.deepEqual(commands, ['npm test', 'npm test', 'git push origin better-bread']);

// A person found a mistake: back to the change. This revokes the approval; the reads stay valid.
const { approvals, completedStages } = await workflow.reset({ stageId: 'change', by: 'Ben' });
assert.deepEqual({ approvals, completedStages }, { approvals: {}, completedStages: ['study'] });

for (const event of await runtime.events.list({ sessionId: 'release-7' }))
  if (event.type === 'workflow.advanced') console.log(`${event.stageId} → ${event.toStageId}`);
