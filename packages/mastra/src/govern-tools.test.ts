import { expect, test } from 'vitest';
import { sendProbe } from './govern-tools.ts';
import { selfTest } from '@quittance/adapter-kit/internal/run/self-test';

test.each([
  ['hands tools on as they are', async (tools: object) => ({ tools: { ...tools } }), 'still ran'],
  ['does nothing at all', async () => ({ tools: { quittance_probe: {} } }), 'never reached the ledger'],
  ['throws', () => Promise.reject(new Error('no tools here')), 'no tools here'],
])('the adapter refuses to start with a wrapper that %s', async (_, broken, why) => {
  await expect(selfTest('@quittance/mastra', sendProbe(broken))).rejects.toMatchObject({
    code: 'adapter.unsafe',
    message: expect.stringContaining(why) as string,
  });
});
