import type { ProgressBar } from '../src/cli/progress.ts';
import { createProgress as createProgressOn } from '../src/cli/progress.ts';

/** Shows the progress of a measurement on standard error. */
export const createProgress = (label: string, total: number): ProgressBar =>
  createProgressOn(label, total, process.stderr);
