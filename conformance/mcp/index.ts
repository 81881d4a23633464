/**
 * Runs the official MCP suite: `npm run conformance:mcp [-- --lane NAME …]`. Without `--lane` every lane runs.
 *
 * The suite exits with 0 even if a scenario is skipped or loses checks, so the checks are counted here. A lane fails if
 * a scored scenario fails, or if it has fewer checks than the fixture server has directly.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lanes } from './lanes.ts';
import type { Lane } from './lanes.ts';
import { expectedCounts } from './expected-counts.ts';
import { runSuite } from './run-suite.ts';
import type { SuiteResult } from './run-suite.ts';

const wanted = process.argv.flatMap((word, at) => (process.argv[at - 1] === '--lane' ? [word] : []));
const unknown = wanted.filter((name) => !lanes.some((lane) => lane.name === name));
if (unknown.length > 0)
  throw new Error(`No lane ${unknown.join(', ')}. Lanes: ${lanes.map(({ name }) => name).join(', ')}.`);

const output = await mkdtemp(join(tmpdir(), 'quittance-mcp-conformance-'));
const summary: Record<string, unknown> = {};
const problems: string[] = [];
try {
  for (const lane of lanes.filter(({ name }) => wanted.length === 0 || wanted.includes(name)))
    summary[lane.name] = await runLane(lane);
} finally {
  await rm(output, { recursive: true, force: true });
}
for (const problem of problems) process.stdout.write(`FAILED ${problem}\n`);
process.stdout.write(
  `${JSON.stringify({ conformance: 'mcp', ok: problems.length === 0, lanes: summary })}\n`,
);
process.exitCode = problems.length === 0 ? 0 : 1;

async function runLane(lane: Lane): Promise<Record<string, string>> {
  const { url, configuration, close } = await lane.start();
  process.stdout.write(`\n${lane.name}: ${lane.description}\n`);
  if (configuration !== undefined) process.stdout.write(`  configuration ${JSON.stringify(configuration)}\n`);
  const shown: Record<string, string> = {};
  try {
    for (const revision of ['2025-11-25', '2026-07-28'] as const) {
      const result = await runSuite(url, revision, join(output, lane.name, revision));
      shown[revision] = report(lane, revision, result);
    }
  } finally {
    await close();
  }
  return shown;
}

function report(lane: Lane, revision: '2025-11-25' | '2026-07-28', result: SuiteResult): string {
  const expected = expectedCounts[revision];
  const known = lane.knownFailures?.[revision] ?? {};
  const groups = [
    ['scored', result.scored, expected.scored],
    ...(expected.tasks === undefined ? [] : ([['tasks', result.tasks, expected.tasks]] as const)),
  ] as const;
  const parts: string[] = [];
  for (const [group, scenarios, { total, checks }] of groups) {
    const passed = scenarios.filter(({ failed }) => failed.length === 0).length;
    const counted = scenarios.reduce((sum, scenario) => sum + scenario.passed, 0);
    parts.push(`${group} ${passed}/${total}, ${counted} checks`);
    for (const { name, failed } of scenarios.filter((scenario) => scenario.failed.length > 0)) {
      const reason = known[name];
      process.stdout.write(
        `  ${reason === undefined ? 'failed' : 'known '} ${revision} ${name}: ${reason ?? failed.join('; ')}\n`,
      );
      if (reason === undefined) problems.push(`${lane.name} ${revision} ${name}: ${failed.join('; ')}`);
    }
    const stale = Object.keys(known).filter((name) =>
      scenarios.some((each) => each.name === name && each.failed.length === 0),
    );
    for (const name of stale)
      problems.push(`${lane.name} ${revision} ${name} passes now. Remove it from the known failures.`);
    if (scenarios.length !== total)
      problems.push(`${lane.name} ${revision}: ${scenarios.length} ${group} scenarios ran, not ${total}.`);
    if (lane.knownFailures === undefined && counted !== checks) {
      problems.push(`${lane.name} ${revision}: ${counted} ${group} checks passed, not ${checks}.`);
      for (const { name, others } of scenarios)
        if (others.length > 0) process.stdout.write(`  others ${revision} ${name}: ${others.join('; ')}\n`);
    }
  }
  const line = parts.join('; ');
  process.stdout.write(`  ${revision}: ${line}\n`);
  return line;
}
