import { describe, expect, test } from 'vitest';
import { describeJob } from '../../packages/console/src/pages/integrity/describe-job.ts';
import type { JobSummary } from '../../packages/server/src/http/api/job.ts';

const job = {
  jobId: 'job_1',
  startedAt: 1,
  startedBy: 'ada',
  endedAt: 2,
  progress: { done: 5, total: 10, label: 'verify' },
  error: undefined,
} as const;
const verified = (problems: number, status: JobSummary['status'] = 'done'): JobSummary => ({
  ...job,
  kind: 'verify',
  status,
  result: { ok: problems === 0, entries: 1_000, sessions: 2, calls: 3, problems },
});

describe('a job in a line', () => {
  test.each([
    [verified(0), 'good', 'No problems in 1,000 entries'],
    [verified(2), 'bad', '2 problems in 1,000 entries'],
    [verified(0, 'stopped'), 'attention', 'No problems in 1,000 entries; the rest was not read'],
    [verified(1, 'stopped'), 'bad', '1 problem in 1,000 entries; the rest was not read'],
    [{ ...verified(0, 'running'), result: undefined }, 'active', '5 of 10'],
    [{ ...verified(0, 'stopped'), result: undefined }, 'attention', 'It had not started.'],
    [{ ...verified(0, 'failed'), result: undefined, error: 'no such file' }, 'bad', 'no such file'],
  ] as const)('describes a verification by what is known, and no more', (given, tone, text) => {
    expect(describeJob(given as JobSummary)).toEqual({ tone, text });
  });

  test.each([
    [0, true, 'good', '0 of 7 calls decided differently'],
    [3, true, 'attention', '3 of 7 calls decided differently'],
    [0, false, 'attention', '0 of 7 calls decided differently; the rest was not checked'],
  ] as const)('describes a backtest by its differences', (different, complete, tone, text) => {
    const result = { policyVersion: 'v', calls: 9, judged: 7, different, complete };
    expect(describeJob({ ...job, kind: 'backtest', status: 'done', result })).toEqual({ tone, text });
  });
});
