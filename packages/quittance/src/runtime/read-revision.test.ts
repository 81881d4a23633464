import type { PreviewRevision } from 'quittance';
import { defineTool } from 'quittance';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { envelope, eventsOf, expectSettledOnce, setStage } from '../../../../test/stage.ts';

const word = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('__proto__', 'constructor', 'password', 'sk_live_51H8xYzAbCdEfGhIjKlMnOpQr', '\0'),
);
const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true });
const almost = fc.record(
  {
    kind: fc.constantFrom('text', 'diff', 'fields', 'command', 'x'),
    text: word,
    path: word,
    diff: word,
    command: word,
    directory: word,
    fields: fc.array(
      fc.record({ name: word, before: anything, after: fc.jsonValue() }, { requiredKeys: [] }),
    ),
    snapshot: fc.oneof(fc.dictionary(word, fc.jsonValue()), anything),
    expiresAt: fc.oneof(fc.double(), fc.nat(), fc.constant(Number.MAX_VALUE)),
    expiresInMs: fc.oneof(fc.double({ min: 0, noNaN: true }), fc.constant(1_000)),
  },
  { requiredKeys: ['kind'] },
);

describe('whatever a preview returns', () => {
  it('the call ends once: it ran with that snapshot, or nothing ran and the outcome says why', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(almost, anything), async (given) => {
        const ran: unknown[] = [];
        const tool = defineTool({
          name: 'set_it',
          preview: () => given as PreviewRevision,
          run: (_, { previewed }) => ran.push(previewed?.snapshot),
        });
        const { turn, runtime } = setStage({ tools: [tool] });
        const outcome = await turn.call(envelope('c', 'set_it'));
        await expectSettledOnce(runtime);
        const [shown] = await eventsOf(runtime, 'tool.previewed');
        const didRun = outcome.type === 'ToolExecutionResult';
        expect(outcome).toMatchObject(didRun ? {} : { type: 'ToolDenied', reason: 'expired' });
        const exact = JSON.stringify(didRun ? ((given as PreviewRevision).snapshot ?? {}) : undefined);
        expect(ran.map((snapshot) => JSON.stringify(snapshot))).toEqual(didRun ? [exact] : []);
        expect(!didRun || shown?.hidden.length !== 0 || JSON.stringify(shown.snapshot) === exact).toBe(true);
        expect(JSON.stringify(shown ?? null)).not.toContain('sk_live_');
      }),
      { numRuns: 300 },
    );
  });
});
