/**
 * Closing a runtime waits for its own work only. Two runtimes with a handle each on one file, as in two
 * processes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { deferred, envelope } from '../stage.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-closing-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const openOne = async (run: () => unknown) => {
  const ledger = await openLedger(`sqlite:${join(folder, 'ledger.db')}`);
  const runtime = createRuntime({ tools: [defineTool({ name: 'pay', mode: 'external', run })], ledger });
  return { ledger, runtime, turn: runtime.turn({ sessionId: 's' }) };
};

test('a runtime that follows a call of another process closes without waiting for it', async () => {
  const begun = deferred<undefined>();
  const end = deferred<string>();
  const first = await openOne(() => {
    begun.resolve(undefined);
    return end.promise;
  });
  const paid = first.turn.call(envelope('a', 'pay'));
  await begun.promise;

  const second = await openOne(() => 'paid twice');
  const followed = second.turn.call(envelope('a', 'pay')).then(
    () => 'told an outcome',
    (error: unknown) => (isQuittanceError(error) ? error.code : String(error)),
  );
  // Made after it, so the follower is active by then.
  expect(await second.turn.call(envelope('b', 'pay'))).toMatchObject({ output: 'paid twice' });
  await second.runtime.close();
  await second.ledger.close();
  expect(await followed).toBe('call.pending');

  end.resolve('paid');
  expect(await paid).toMatchObject({ output: 'paid' });
  await first.runtime.close();
  await first.ledger.close();
});
