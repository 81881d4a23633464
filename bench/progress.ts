import type { ProgressBar } from '../src/cli/progress.ts';
import { createProgress as createProgressOn } from '../src/cli/progress.ts';

/** Shows on standard error how far a measurement is. */
export const createProgress = (label: string, total: number): ProgressBar =>
  createProgressOn(label, total, process.stderr);
