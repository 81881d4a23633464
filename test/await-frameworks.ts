/**
 * Loaded before each test file with frameworks: `npm test` starts the tests while it still installs them. Other files
 * run first, so this waits only on a slow network.
 */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isInstalled } from '../scripts/installed-frameworks.ts';
import { installingName } from './installing-name.ts';

const folder = join(import.meta.dirname, 'frameworks');
const givesUpAt = performance.now() + 600_000;
if (process.env[installingName] !== undefined)
  while (!isInstalled(folder)) {
    if (performance.now() > givesUpAt)
      throw new Error(
        'The frameworks were not installed in ten minutes. To install them: npm run frameworks',
      );
    await wait(200);
  }
