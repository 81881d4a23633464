/**
 * A separate process for the suite: `node child.ts JSON`. It plays one part, reports in lines of JSON, and
 * may be killed at any time.
 */
import type { Part } from './part.ts';
import { playPart } from './part.ts';

await playPart(JSON.parse(process.argv[2] ?? '') as Part, (line) => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
});
process.exit(0);
