// A tool that another process runs: the agent hands the call off, a worker claims it, runs it and reports. With the
// argument "worker" this file is the worker; without it, it is the agent and starts a worker.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';

const renderInput = z.object({ scene: z.string() });
// Both sides know the tool's definition. Only the worker has its implementation.
const renderVideo = defineTool({
  name: 'render_video',
  mode: 'external',
  input: renderInput,
  output: z.object({ frames: z.number() }),
  handoff: true,
  timeoutMs: 60_000,
});

async function work(path: string): Promise<void> {
  const ledger = await openLedger(path);
  const runtime = createRuntime({ tools: [renderVideo], ledger });
  let claim = await runtime.handoffs.claim({ toolName: 'render_video' }, { worker: `pid ${process.pid}` });
  while (claim === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    claim = await runtime.handoffs.claim({ toolName: 'render_video' }, { worker: `pid ${process.pid}` });
  }
  const { token, arguments: args } = claim;
  const { scene } = renderInput.parse(args);
  const output = { frames: scene.length * 24 };
  const first = await runtime.handoffs.report(
    token,
    { output },
    { log: [{ message: 'rendered' }], costMicros: 500 },
  );
  assert.equal(first.status, 'settled');
  // A report whose answer was lost is sent again: the recorded answer comes back, and nothing counts twice.
  assert.equal((await runtime.handoffs.report(token, { output })).status, 'replayed');
  await assert.rejects(runtime.handoffs.report('forged', { output }), (error) =>
    isQuittanceError(error, 'handoff.unknown'),
  );
  await runtime.close();
  await ledger.close();
}

async function ask(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-example-'));
  const path = join(folder, 'ledger.db');
  const ledger = await openLedger(path);
  const runtime = createRuntime({ tools: [renderVideo], ledger });
  const turn = runtime.turn({ sessionId: 'film' });
  const told = turn.call({ id: 'r1', name: 'render_video', arguments: { scene: 'dawn' } });

  const args = [...process.execArgv, import.meta.filename, 'worker', path];
  const worker = spawn(process.execPath, args, { stdio: 'inherit' });
  const [exitCode] = (await once(worker, 'exit')) as [number];
  assert.equal(exitCode, 0);

  const outcome = await told;
  assert(outcome.type === 'ToolExecutionResult');
  assert.deepEqual(outcome.output, { frames: 96 });
  const records = await runtime.calls.audit({ sessionId: 'film' });
  assert.deepEqual(
    records.map((record) => record.outcome.kind),
    ['completed', 'replayed'],
  );
  console.log(`Rendered by another process: ${JSON.stringify(outcome.output)}`);
  await runtime.close();
  await ledger.close();
  rmSync(folder, { recursive: true });
}

const [, , role, path] = process.argv;
await (role === 'worker' && path !== undefined ? work(path) : ask());
