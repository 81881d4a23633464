/**
 * Runs the public conformance cases of the contract language below the folders that are named through the doors of the
 * built package: `npm run conformance -- DIR…`.
 */
import { findCases } from './find-cases.ts';
import { reportOn, runCases } from './run-cases.ts';

const folders = process.argv.slice(2);
if (folders.length === 0) {
  console.error('Name the folder that holds the cases: npm run conformance -- DIR');
  process.exit(2);
}
const { lines, ok } = reportOn(await runCases(folders.flatMap(findCases)));
console.log(lines.join('\n'));
process.exitCode = ok ? 0 : 1;
