import type { PreviewedOperation } from 'quittance';
import type { ConfirmationView } from 'quittance/runtime';
import { defineTool, isQuittanceError } from 'quittance';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { envelope, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';

type Act =
  | { readonly type: 'approve' | 'edit'; readonly aged: boolean }
  | { readonly type: 'deny' | 'wait' | 'withdraw' | 'cancel' };

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ type: fc.constantFrom('approve' as const, 'edit' as const), aged: fc.boolean() }),
  fc.record({
    type: fc.constantFrom('deny' as const, 'wait' as const, 'withdraw' as const, 'cancel' as const),
  }),
);

it('a body runs at most once, with the preview that was approved last, or its preview is released', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 6 }), async (acts) => {
      const ran: { readonly text: string; readonly approved: PreviewedOperation | undefined }[] = [];
      const made: string[] = [];
      const released: string[] = [];
      const tool = defineTool({
        name: 'write',
        mode: 'local',
        input: z.object({ text: z.string() }),
        preview: async function* ({ text }, { operationId }) {
          made.push(operationId);
          yield { kind: 'text', text: 'thinking' };
          yield { kind: 'text', text, snapshot: { text, operationId }, expiresInMs: 1_000 };
        },
        cancel: ({ operationId }) => void released.push(operationId),
        run: ({ text }, { approved }) => ran.push({ text, approved }),
      });
      const { turn, runtime, clock } = setStage({ tools: [tool] });
      const outcome = turn.call(envelope('c', 'write', { text: 'v0' }));
      let agreedTo: ConfirmationView | undefined;
      let before: ConfirmationView | undefined;
      for (const [at, next] of acts.entries()) {
        for (let round = 0; round < 4; round++) await quiet();
        const [asked] = (await runtime.confirmations.list({ status: 'pending' })).rows;
        if (asked === undefined) break;
        // A person may decide about a version that was shown a while ago.
        const seen = 'aged' in next && next.aged ? (before ?? asked) : asked;
        const shown = {
          by: 'ada',
          inputDigest: seen.inputDigest,
          ...(seen.preview && { revision: seen.preview.revision }),
        };
        const text = `v${at + 1}`;
        const decide = (decision: Parameters<typeof runtime.confirmations.decide>[1]) =>
          runtime.confirmations.decide(asked.confirmationId, decision).catch((error: unknown) => {
            if (!isQuittanceError(error)) throw error;
            return undefined;
          });
        if (next.type === 'approve') agreedTo = await decide({ decision: 'approve', ...shown });
        else if (next.type === 'edit') await decide({ decision: 'edit', ...shown, arguments: { text } });
        else if (next.type === 'deny') await decide({ decision: 'deny', by: 'ada' });
        else if (next.type === 'wait') clock.advance(400);
        else if (next.type === 'withdraw') await turn.end({ withdraw: true });
        else turn.cancel('c');
        before = asked;
      }
      for (let round = 0; round < 4; round++) await quiet();
      const [open] = (await runtime.confirmations.list({ status: 'pending' })).rows;
      if (open !== undefined) clock.advance(1_000);
      const { type } = await outcome;
      await expectSettledOnce(runtime);
      expect(ran.length).toBe(type === 'ToolExecutionResult' ? 1 : 0);
      const last = made.at(-1);
      const [did] = ran;
      expect(did?.approved).toEqual(
        did && {
          operationId: last,
          revision: agreedTo?.preview?.revision,
          snapshot: { text: did.text, operationId: last },
        },
      );
      // Every preview except the executed one is released once.
      expect(released).toEqual(ran.length === 1 ? made.slice(0, -1) : made);
    }),
    { numRuns: 150 },
  );
});
