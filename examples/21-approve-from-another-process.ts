// The agent runs in one process, the approver uses another. They share only a ledger file: the inbox does not have
// the tool, and the agent does not know the inbox. This program is both; it starts itself as the inbox.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';

const [file] = process.argv.slice(2);
if (file === undefined) await beTheAgent();
else await beTheInbox(file);

async function beTheAgent(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-inbox-'));
  const path = join(folder, 'ledger.db');
  const deleted: string[] = [];
  const deleteUser = defineTool({
    name: 'delete_user',
    input: z.object({ userId: z.string() }),
    run: ({ userId }) => ({ deleted: deleted.push(userId) }),
  });
  const ledger = await openLedger(path);
  const runtime = createRuntime({ tools: [deleteUser], ledger });
  const turn = runtime.turn({ sessionId: 'admin' });
  const asked = ['u7', 'u8', 'u9'].map((userId) =>
    turn.call({ id: `delete ${userId}`, name: 'delete_user', arguments: { userId } }),
  );

  const inbox = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), path], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  assert.deepEqual(await once(inbox, 'exit'), [0, null]);

  const outcomes = await Promise.all(asked);
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.type === 'ToolDenied' ? outcome.details : outcome.type)),
    ['ToolExecutionResult', 'Denied by Ada: u8 is me', 'ToolExecutionResult'],
  );
  assert.deepEqual(deleted.toSorted(), ['u70', 'u9']); // u7 was a typing error, and Ada knew the right one
  for (const { callId, outcome, decidedBy } of await runtime.calls.audit({ sessionId: 'admin' }))
    console.log('agent:', callId, outcome.kind, decidedBy?.name ?? '');
  await runtime.close();
  await ledger.close();
  rmSync(folder, { recursive: true });
}

async function beTheInbox(path: string): Promise<void> {
  const ledger = await openLedger(path);
  const runtime = createRuntime({ tools: [], ledger });
  let open: Awaited<ReturnType<typeof runtime.confirmations.list>>['rows'] = [];
  while (open.length < 3) open = (await runtime.confirmations.list({ status: 'pending' })).rows;
  for (const { confirmationId, inputDigest, callId, effectiveInput, risk } of open) {
    console.log('inbox:', callId, effectiveInput, risk.join(', '));
    // A decision names the digest of what was shown, so that it covers nothing else.
    if (callId === 'delete u8')
      await runtime.confirmations.decide(confirmationId, { decision: 'deny', by: 'Ada', reason: 'u8 is me' });
    else if (callId === 'delete u7')
      await runtime.confirmations.decide(confirmationId, {
        decision: 'edit',
        by: 'Ada',
        inputDigest,
        arguments: { userId: 'u70' },
      });
    else await runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'Ada', inputDigest });
  }
  await runtime.close();
  await ledger.close();
}
