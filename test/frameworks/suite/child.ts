/**
 * A separate process for the suite: `node child.ts JSON`. It plays its parts, reports in lines of JSON, and
 * may be killed at any time.
 */
import type { Part } from './part.ts';
import { playParts } from './part.ts';

await playParts(JSON.parse(process.argv[2] ?? '') as readonly Part[], (line) => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
});
process.exit(0);
