import { expect, test } from 'vitest';
import type { Verification } from '../../packages/server/src/http/api/job.ts';
import { describeVerification } from '../../packages/console/src/pages/integrity/describe-verification.ts';

const result: Verification = { ok: true, entries: 1, sessions: 1, calls: 1, problems: 0, findings: [] };

test('only a complete verification without a problem says that no problems were found', () => {
  const done = describeVerification({ status: 'done', error: undefined, result });
  expect(done).toEqual({
    tone: 'good',
    title: 'No problems found',
    detail: 'Checked: 1 entry of 1 session, 1 call.',
  });
  for (const other of [
    describeVerification({ status: 'stopped', error: undefined, result }),
    describeVerification({ status: 'stopped', error: undefined, result: undefined }),
    describeVerification({ status: 'failed', error: 'no file', result: undefined }),
    describeVerification({ status: 'done', error: undefined, result: { ...result, ok: false, problems: 2 } }),
    describeVerification({ status: 'running', error: undefined, result: undefined }),
  ]) {
    expect(other.tone).not.toBe('good');
    expect(other.title).not.toBe(done.title);
  }
});

test('a stopped one reports the problems found so far, and that the rest was not checked', () => {
  const broken = { ...result, ok: false, problems: 1 };
  expect(describeVerification({ status: 'stopped', error: undefined, result: broken }).title).toBe(
    '1 problem found',
  );
  expect(describeVerification({ status: 'stopped', error: undefined, result }).detail).toContain(
    'The rest was not checked',
  );
});
