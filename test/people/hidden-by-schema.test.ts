/** Hidden values that were not in the request: a default or a transform of the schema added them. */
import type { JsonObject } from 'quittance';
import type { PersonDecision } from 'quittance/runtime';
import { createRuntime, defineTool } from 'quittance';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createMortalLedger } from '../mortal-ledger.ts';
import { createRecordingLedger } from '../recording-ledger.ts';
import { envelope, setStage } from '../stage.ts';
import { question } from './question.ts';

const added = 'k-4711-xyz';

function hold(args: JsonObject) {
  const got: unknown[] = [];
  const clock = createManualClock();
  const { ledger, written } = createRecordingLedger(clock);
  const { runtime, turn } = setStage({
    clock,
    ledger,
    tools: [
      defineTool({
        name: 'delete_it',
        redact: { input: ['$.code'] },
        input: z.object({
          id: z.number(),
          code: z.string().default(added),
          password: z.string().optional(),
        }),
        run: (given) => void got.push(given),
      }),
    ],
  });
  const told = turn.call(envelope('c', 'delete_it', args));
  const without = createRuntime({ clock, ledger, tools: [] });
  return { runtime, without, told, got, written };
}

describe('a hidden value that only the schema added', () => {
  describe.each([
    ['nothing else is', { id: 1 }],
    ['the request hides something as well', { id: 1, password: 'hunter22' }],
  ])('if %s', (_, args) => {
    it.each<[string, Pick<PersonDecision, 'reason'> & JsonObject]>([
      ['approves', { decision: 'approve', reason: `${added} is right` }],
      ['denies', { decision: 'deny', reason: `${added} is wrong` }],
      ['answers', { decision: 'respond', response: `take ${added} yourself` }],
    ])('[secrets-stay-out] is not stored in the words of a person who %s', async (__, decision) => {
      for (const process of ['runtime', 'without'] as const) {
        const on = hold(args);
        const { confirmationId, inputDigest, effectiveInput } = await question(on.runtime);
        expect(effectiveInput).toMatchObject({ code: '[REDACTED]' });
        await on[process].confirmations.decide(confirmationId, {
          ...decision,
          by: 'ada',
          inputDigest,
        } as PersonDecision);
        await on.told;
        expect(on.written()).toMatch(/\[REDACTED\] is|take \[REDACTED\]/);
        expect(on.written()).not.toContain(added);
      }
    });

    it('[bound-approval] reaches the body if an edit leaves the mask in its place', async () => {
      for (const process of ['runtime', 'without'] as const) {
        const on = hold(args);
        const { confirmationId, inputDigest, effectiveInput } = await question(on.runtime);
        const edited = { ...(effectiveInput as JsonObject), id: 2 };
        await on[process].confirmations.decide(confirmationId, {
          decision: 'edit',
          by: 'ada',
          inputDigest,
          arguments: edited,
        });
        await on.told;
        expect(on.got).toEqual([{ ...args, id: 2, code: added }]);
        expect(on.written()).not.toContain(added);
      }
    });
  });

  it('[secrets-stay-out] stays hidden if a process without the tool replaces it', async () => {
    const on = hold({ id: 1 });
    const { confirmationId, inputDigest } = await question(on.runtime);
    await on.without.confirmations.decide(confirmationId, {
      decision: 'edit',
      by: 'ada',
      inputDigest,
      arguments: { id: 2, code: 'k-0815-abc' },
    });
    await on.told;
    expect(on.got).toEqual([{ id: 2, code: 'k-0815-abc' }]);
    expect(on.written()).not.toContain('k-0815-abc');
  });
});

it('[bound-approval] a process that takes over a held call asks about the schema’s result', async () => {
  const clock = createManualClock();
  const file = createMortalLedger(clock);
  const tools = [
    defineTool({
      name: 'delete_it',
      input: z.object({ id: z.number(), all: z.boolean().default(true) }),
      run: (given) => given,
    }),
  ];
  const owner = file.open();
  const first = createRuntime({ clock, ledger: owner.ledger, tools });
  void first.turn({ sessionId: 's' }).call(envelope('c', 'delete_it', { id: 1 }));
  await question(first);
  owner.kill();
  const shown: unknown[] = [];
  const runtime = createRuntime({
    clock,
    ledger: file.open().ledger,
    tools,
    onConfirm: ({ arguments: given }) => {
      shown.push(given);
      return { decision: 'approve', by: 'ada' };
    },
  });
  expect(await runtime.turn({ sessionId: 's' }).call(envelope('c', 'delete_it', { id: 1 }))).toMatchObject({
    output: { id: 1, all: true },
  });
  expect(shown).toEqual([{ id: 1, all: true }]);
});
