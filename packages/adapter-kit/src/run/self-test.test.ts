import { expect, test } from 'vitest';
import { createDriver } from './driver.ts';
import { probe, selfTest } from './self-test.ts';
import type { SendProbe } from './self-test.ts';

const request = { id: probe.callId, name: probe.name, arguments: {} };

const through: SendProbe = async (options, body) => {
  const driver = createDriver([{ name: probe.name, run: body }], options);
  await driver.open({ sessionId: probe.sessionId }).call(request);
};

test('an adapter that sends its calls through the runtime passes', async () => {
  await expect(selfTest('good', through)).resolves.toBeUndefined();
});

test.each<readonly [string, SendProbe, RegExp]>([
  ['calls the body itself', async (_, body) => body(), /still ran/],
  [
    'calls the body outside the runtime',
    async (options, body) => {
      await through(options, body);
      body();
    },
    /still ran/,
  ],
  ['calls no body', async () => undefined, /never reached the ledger/],
  [
    'leaves the policy out',
    async (options, body) => {
      const driver = createDriver([{ name: probe.name, run: body }], { ...options, onPreToolUse: [] });
      await driver.open({ sessionId: probe.sessionId }).call(request);
    },
    /still ran/,
  ],
  [
    'uses a ledger of its own',
    async ({ onPreToolUse = [] }, body) => {
      const driver = createDriver([{ name: probe.name, run: body }], { onPreToolUse });
      await driver.open({ sessionId: probe.sessionId }).call(request);
    },
    /never reached the ledger/,
  ],
  ['throws', () => Promise.reject(new Error('no such method')), /no such method/],
])('an adapter that %s refuses to start', async (_, send, words) => {
  await expect(selfTest('bad', send)).rejects.toMatchObject({
    code: 'adapter.unsafe',
    message: expect.stringMatching(words) as string,
    facts: { adapter: 'bad' },
  });
});
