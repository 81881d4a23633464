/**
 * Everything that must hold before a change lands, cheapest first, stopping at the first step that does not:
 * `npm run check`. Each step is a script of package.json and can be run alone.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };

const steps: readonly (readonly [script: keyof typeof manifest.scripts, what: string])[] = [
  ['format:check', 'the files are formatted'],
  ['lint', 'the code keeps the lint rules'],
  ['types', 'the types hold, type tests included'],
  ['test:run', 'the tests pass'],
  ['build', 'the package builds'],
  ['package', 'the packed package resolves and its types match its code'],
  ['unused', 'no file, export or dependency is unused'],
  ['examples', 'the examples run'],
];

const { positionals: only } = parseArgs({ allowPositionals: true });
const unknown = only.filter((name) => !steps.some(([script]) => script === name));
if (unknown.length > 0) {
  console.error(
    `No step named ${unknown.join(', ')}. Known steps: ${steps.map(([script]) => script).join(', ')}.`,
  );
  process.exit(2);
}

const chosen = steps.filter(([script]) => only.length === 0 || only.includes(script));
for (const [index, [script, what]] of chosen.entries()) {
  console.log(`\n[${index + 1}/${chosen.length}] ${script}: ${what}`);
  const startedAt = performance.now();
  const { status } = spawnSync('npm', ['run', '--silent', script], {
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (status !== 0) {
    console.error(`\n${script} failed after ${seconds} s. Run it alone with: npm run ${script}`);
    process.exit(1);
  }
  console.log(`[${index + 1}/${chosen.length}] ${script}: ok in ${seconds} s`);
}
console.log(`\nAll ${chosen.length} steps hold.`);
