/** A job, whatever its work is. */
import type { Job } from './api/job.ts';
import type { Shape } from './shape.ts';
import { choice, decimal, integer, maybe, object, open, text } from './shape.ts';

export const jobShape: Shape<Job> = open(
  'Job',
  'Work that takes a while. `result` is there once it is done.',
  {
    jobId: text(),
    kind: choice({ verify: true, backtest: true }),
    startedAt: decimal(),
    startedBy: text(),
    endedAt: maybe(decimal()),
    status: choice({ running: true, done: true, failed: true, stopped: true }),
    progress: object<Job['progress']>({ done: integer(), total: integer(), label: text() }),
    error: maybe(text()),
  },
);
