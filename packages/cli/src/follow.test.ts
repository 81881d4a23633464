import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { expect, test } from 'vitest';
import { startCli } from '../../../test/run-cli.ts';

test('calls --follow shows calls of another process, and Ctrl-C ends it cleanly', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-cli-'));
  const path = join(folder, 'ledger.db');
  const ledger = await openLedger(path);
  const echo = defineTool({ name: 'get_echo', mode: 'read', input: { type: 'object' }, run: () => 'again' });
  const runtime = createRuntime({ tools: [echo], ledger });
  const turn = runtime.turn({ sessionId: 's' });
  await turn.call({ id: 'before', name: 'get_echo', arguments: {} });

  const child = startCli(['calls', '--follow', '--json', '--ledger', path]);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const { value } = (await lines.next()) as { value?: string };
    return value === undefined ? undefined : (JSON.parse(value) as { callId: unknown }).callId;
  };
  expect(await next()).toBe('before');
  await turn.call({ id: 'after', name: 'get_echo', arguments: {} });
  expect(await next()).toBe('after');
  await turn.call({ id: 'later', name: 'get_echo', arguments: {} });
  expect(await next()).toBe('later');

  child.kill('SIGINT');
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code).toBe(130);
  // The follower has released the ledger: only this process still owns it.
  expect(readdirSync(`${path}.owners`).filter((name) => !/journal|process/.test(name))).toHaveLength(1);
  await runtime.close();
  await ledger.close();
  rmSync(folder, { recursive: true });
});
