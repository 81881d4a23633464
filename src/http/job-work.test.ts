import { createRuntime, defineTool } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { expect, test } from 'vitest';
import { runJobWork } from './job-work.ts';

test('a verification that was stopped says of no ledger that it is as it was written', async () => {
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
