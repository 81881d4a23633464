/** Whether the packages of a folder are installed as its lock file says. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const stampIn = (folder: string): string => join(folder, 'node_modules/.installed');
const wantedIn = (folder: string): string =>
  createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');

export const isInstalled = (folder: string): boolean =>
  existsSync(stampIn(folder)) && readFileSync(stampIn(folder), 'utf8') === wantedIn(folder);

/** Written last, so that only a complete installation counts. */
export const markInstalled = (folder: string): void => writeFileSync(stampIn(folder), wantedIn(folder));
