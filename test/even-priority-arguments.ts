import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Arguments for a Node process whose servers must not wait for other tests: see even-priority.ts. */
export const evenPriority: readonly string[] = [
  '--import',
  pathToFileURL(join(import.meta.dirname, 'even-priority.ts')).href,
];
