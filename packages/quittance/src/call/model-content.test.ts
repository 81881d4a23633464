import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyJson, anyOutcome, anyText } from '../../../../test/arbitrary-outcome.ts';
import { modelContentTable, outcomeToContentParts, outcomeToModelContent } from './model-content.ts';
import type { DenialReason, ToolExecutionResult, ToolOutcome } from './outcome.ts';
import { denialReasons } from './outcome.ts';

const success: ToolExecutionResult = {
  type: 'ToolExecutionResult',
  callId: 'c_42',
  toolName: 'draw',
  output: { ok: true },
  elapsedMs: 1,
  wasCoerced: true,
};

const denied = (reason: DenialReason, details: string): ToolOutcome => ({
  type: 'ToolDenied',
  callId: 'c_42',
  toolName: 'refund',
  code: denialReasons[reason].codes[0],
  reason,
  details,
});

describe('the content for the model', () => {
  test('is JSON, well-formed text, and never changes, for any outcome', () => {
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        const content = outcomeToModelContent(outcome);
        expect(() => JSON.parse(content) as unknown).not.toThrow();
        expect(content.isWellFormed()).toBe(true);
        expect(outcomeToModelContent(structuredClone(outcome))).toBe(content);
      }),
      { numRuns: 500 },
    );
  });

  test('the content for the model of a success is its output and nothing else', () => {
    fc.assert(
      fc.property(anyJson, (output) => {
        expect(outcomeToModelContent({ ...success, output })).toBe(JSON.stringify(output));
      }),
    );
  });

  test('survives NULs and lone surrogates in every text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const content = outcomeToModelContent(denied('pre_hook', `x${text}`));
        expect(JSON.parse(content)).toEqual({ error: `Blocked: x${text}`, blocked: true });
      }),
    );
  });

  test.each(modelContentTable.slice(1))(
    '$outcome has the keys of the table, in their order',
    ({ modelSees, example }) => {
      const keys = (text: string): string[] =>
        [...text.matchAll(/"(\w+)":/g)].flatMap(([, key]) => key ?? []);
      expect(Object.keys(JSON.parse(outcomeToModelContent(example)) as object)).toEqual(keys(modelSees));
    },
  );

  test.each(['pre_hook', 'write_denied', 'contract', 'budget', 'expired', 'conflict', 'ended'] as const)(
    'a denial %s says what blocked it, or the default sentence',
    (reason) => {
      expect(outcomeToModelContent(denied(reason, 'Not today.'))).toBe(
        '{"error":"Blocked: Not today.","blocked":true}',
      );
      expect(JSON.parse(outcomeToModelContent(denied(reason, '')))).toEqual({
        error: `Blocked: ${denialReasons[reason].sentence}`,
        blocked: true,
      });
    },
  );

  test('the content for the model of a large output says how to read it and how to pass it on', () => {
    const content = outcomeToModelContent({
      type: 'ToolArtifactReference',
      callId: 'c_42',
      toolName: 'export',
      artifactId: 'art_9',
      summary: 'Rows…',
      sizeBytes: 99,
      elapsedMs: 1,
      wasCoerced: false,
    });
    const { hint } = JSON.parse(content) as { hint: string };
    for (const word of ['read_artifact', 'artifactId', 'offset', 'limit', 'search', '{"$artifact":"art_9"}'])
      expect(hint).toContain(word);
  });
});

describe('the content parts', () => {
  test('are only the tabled content if there is nothing else', () => {
    expect(outcomeToContentParts(success)).toEqual([{ type: 'text', text: '{"ok":true}' }]);
  });

  test('add the note and then the files, separate from the content', () => {
    expect(
      outcomeToContentParts({
        ...success,
        modelNote: 'width was coerced to a number.',
        files: [
          { artifactId: 'art_1', mimeType: 'image/png', sizeBytes: 9, name: 'a.png' },
          { artifactId: 'art_2', mimeType: 'text/csv', sizeBytes: 9 },
        ],
      }),
    ).toEqual([
      { type: 'text', text: '{"ok":true}' },
      { type: 'text', text: 'width was coerced to a number.' },
      { type: 'file', mimeType: 'image/png', artifactId: 'art_1' },
      { type: 'file', mimeType: 'text/csv', artifactId: 'art_2' },
    ]);
  });

  test('start with the content for any outcome', () => {
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        const [first, ...rest] = outcomeToContentParts(outcome);
        expect(first).toEqual({ type: 'text', text: outcomeToModelContent(outcome) });
        const files = 'files' in outcome ? (outcome.files?.length ?? 0) : 0;
        expect(rest).toHaveLength((outcome.modelNote === undefined ? 0 : 1) + files);
      }),
    );
  });
});
