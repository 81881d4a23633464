import { expect, test } from 'vitest';
import { governTools, sendProbe } from './govern-tools.ts';
import { selfTest } from '@quittance/adapter-kit/internal/run/self-test';

test('the adapter refuses to start if a wrapped tool still runs its function', async () => {
  const broken = sendProbe(async (tools) => ({ run: () => ({ tools }) }));
  await expect(selfTest('@quittance/ai-sdk', broken)).rejects.toMatchObject({
    code: 'adapter.unsafe',
    message: expect.stringContaining('still ran') as string,
  });
});

test('the adapter refuses to start if a wrapped tool never asks for approval', async () => {
  const deaf = sendProbe(async () => ({ run: () => ({ tools: { quittance_probe: {} } }) }));
  await expect(selfTest('@quittance/ai-sdk', deaf)).rejects.toMatchObject({
    code: 'adapter.unsafe',
    message: expect.stringContaining('never reached the ledger') as string,
  });
});

test('the outcome of a wrapped tool is recorded before it answers', async () => {
  const { run, runtime } = await governTools({ greet: { execute: async () => 'hello' } });
  const { greet } = run({ sessionId: 's' }).tools;
  expect(await greet.execute({} as never, { toolCallId: 'c1' } as never)).toBe('hello');
  const [made] = await runtime.calls.list({ sessionId: 's' });
  expect(made?.settled?.outcome).toMatchObject({ type: 'ToolExecutionResult', output: 'hello' });
});
