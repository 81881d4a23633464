import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { expect, test } from 'vitest';
import { runJobWork } from './job-work.ts';

test('a stopped verification never reports an unchanged ledger', async () => {
  const ledger = createMemoryLedger();
  const runtime = createRuntime({ tools: [defineTool({ name: 'get_time', run: () => 12 })], ledger });
  await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'get_time', arguments: {} });
  const order = { kind: 'verify', anchor: undefined } as const;
  const verify = async (signal: AbortSignal): Promise<unknown> =>
    (await runJobWork(ledger, order, signal, () => undefined)).result;
  expect(await verify(new AbortController().signal)).toMatchObject({ ok: true, problems: 0, calls: 1 });
  expect(await verify(AbortSignal.abort())).toMatchObject({ ok: false, problems: 0 });
  await runtime.close();
});
