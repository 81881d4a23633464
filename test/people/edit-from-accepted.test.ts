import { createRuntime, defineTool } from 'quittance';
import type { JsonObject } from 'quittance';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { holdCall } from '../console/shop.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const secret = `sk-${'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8b'}`;

it('[bound-approval] applies the schema once to an edit of the accepted arguments', async () => {
  const got: unknown[] = [];
  const runtime = createRuntime({
    tools: [
      defineTool({
        name: 'transfer',
        mode: 'local',
        input: z
          .object({ euros: z.number(), token: z.string() })
          .transform(({ euros, token }) => ({ euros: euros * 100, token: `signed ${token}` })),
        run: (args) => {
          got.push(args);
          return 'ok';
        },
      }),
    ],
  });
  closing.push(() => runtime.close());
  const turn = runtime.turn({ sessionId: 's' });
  const args: JsonObject = { euros: 5, token: secret };
  const { confirmationId, inputDigest } = await holdCall(runtime, turn, 'c', 'transfer', args);
  const [asked] = (await runtime.confirmations.list({ status: 'pending' })).rows;
  expect(asked).toMatchObject({ effectiveInput: { euros: 500 }, acceptedInput: { euros: 5 } });
  // Changes the amount, and leaves the mask of the token in place: it stands for the token from the model.
  const edited = { ...(asked?.acceptedInput as JsonObject), euros: 4 };
  expect(JSON.stringify(edited)).not.toContain(secret);
  await runtime.confirmations.decide(confirmationId, {
    decision: 'edit',
    by: 'ada',
    inputDigest,
    arguments: edited,
  });
  await turn.call({ id: 'c', name: 'transfer', arguments: args });
  expect(got).toEqual([{ euros: 400, token: `signed ${secret}` }]);
});

it('stores with the decision that the person had not read to the end, and refuses anything but true and false', async () => {
  const runtime = createRuntime({
    tools: [defineTool({ name: 'act', mode: 'local', input: z.object({}), run: () => 'ok' })],
  });
  closing.push(() => runtime.close());
  const turn = runtime.turn({ sessionId: 's' });
  const { confirmationId, inputDigest } = await holdCall(runtime, turn, 'c', 'act', {});
  const decision = { decision: 'approve', by: 'ada', inputDigest } as const;
  await expect(
    runtime.confirmations.decide(confirmationId, { ...decision, notReadToEnd: 'yes' as never }),
  ).rejects.toMatchObject({ code: 'config.invalid' });
  await runtime.confirmations.decide(confirmationId, { ...decision, notReadToEnd: true });
  await turn.call({ id: 'c', name: 'act', arguments: {} });
  const events = await runtime.events.list({ sessionId: 's' });
  expect(events.find(({ type }) => type === 'confirmation.decided')).toMatchObject({
    by: { name: 'ada', notReadToEnd: true },
  });
  expect((await runtime.calls.audit({ sessionId: 's' })).at(-1)?.decidedBy).toMatchObject({
    notReadToEnd: true,
  });
});
