/** A job, whatever its work is. */
import type { Job, JobSummary } from './api/job.ts';
import type { Fields, Shape } from './shape.ts';
import { choice, decimal, integer, maybe, object, open, text } from './shape.ts';

export const kindShape: Shape<Job['kind']> = choice({ verify: true, backtest: true });

const fields: Fields<Omit<Job, 'result'>> = {
  jobId: text(),
  kind: kindShape,
  startedAt: decimal(),
  startedBy: text(),
  endedAt: maybe(decimal()),
  status: choice({ running: true, done: true, failed: true, stopped: true }),
  progress: object<Job['progress']>({ done: integer(), total: integer(), label: text() }),
  error: maybe(text()),
};

export const jobShape: Shape<Job> = open(
  'Job',
  'Work that takes a while. `result` is there once it is done.',
  fields,
);

export const jobSummaryShape: Shape<JobSummary> = open(
  'JobSummary',
  'A job in a list: `result` is in numbers, without what was found one by one.',
  fields,
);
