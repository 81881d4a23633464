import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { SessionDiff } from 'quittance/internal/replay/diff-sessions';
import { diffLines } from './commands/diff.ts';
import { createTerminal } from './terminal.ts';

test('names outcomes and fields in the words of the console', () => {
  const call = { callId: 'c1', toolName: 'pay', requestedInput: {} };
  const diff = {
    identical: false,
    same: 0,
    changed: 1,
    onlyA: 0,
    onlyB: 0,
    comparedByKeptForm: 0,
    workflows: [],
    circumstances: [],
    calls: [
      {
        status: 'changed',
        a: call,
        b: call,
        differences: [
          { field: 'outcome', path: '$', a: 'ToolTimeout', b: 'ToolArtifactReference' },
          { field: 'size_bytes', path: '$', a: undefined, b: 7 },
          { field: 'output', path: '$.outcome', a: 'ToolTimeout', b: 'other' },
        ],
      },
    ],
  } as unknown as SessionDiff;
  const out = createTerminal(new PassThrough(), { COLUMNS: '80' }, new AbortController().signal);
  const lines = [...diffLines(diff, ['a', 'b'], false, out)].map((line) => line.trim().replace(/ +/g, ' '));
  expect(lines).toContain('timed out │ succeeded (large output)');
  expect(lines).toContain('size bytes');
  // A value of a tool stays as it is.
  expect(lines).toContain('"ToolTimeout" │ "other"');
});
