import type { ProgressBar } from '../packages/cli/src/progress.ts';
import { createProgress as createProgressOn } from '../packages/cli/src/progress.ts';

/** Shows the progress of a measurement on standard error. */
export const createProgress = (label: string, total: number): ProgressBar =>
  createProgressOn(label, total, process.stderr);
