/** One run of the official suite against a server, and its checks by scenario. */
import { spawn } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

export type Revision = '2025-11-25' | '2026-07-28';

export type ScenarioResult = {
  readonly name: string;
  /** The number of checks that passed. */
  readonly passed: number;
  /** The checks that failed, with their messages. */
  readonly failed: readonly string[];
  /** The checks that neither passed nor failed, with their messages. */
  readonly others: readonly string[];
};

export type SuiteResult = {
  /** The scenarios that the revision requires. */
  readonly scored: readonly ScenarioResult[];
  /** Those of the tasks extension. */
  readonly tasks: readonly ScenarioResult[];
};

type Check = { readonly id: string; readonly status: string; readonly errorMessage?: string };

const frameworks = join(import.meta.dirname, '../../test/frameworks');
const suiteFolder = join(frameworks, 'node_modules/@modelcontextprotocol/conformance');

export async function runSuite(url: string, revision: Revision, output: string): Promise<SuiteResult> {
  await rm(output, { recursive: true, force: true }); // the suite adds to what is there
  await runProgram([
    join(suiteFolder, 'dist/index.js'),
    'server',
    '--url',
    url,
    '--requirements',
    revision,
    '-o',
    output,
  ]);
  const required = await requiredScenarios(revision);
  const scored: ScenarioResult[] = [];
  const tasks: ScenarioResult[] = [];
  for (const folder of (await readdir(output)).toSorted()) {
    const name = folder.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T.*$/, '');
    const checks = JSON.parse(
      await readFile(join(output, folder, 'checks.json'), 'utf8'),
    ) as readonly Check[];
    const result = {
      name,
      passed: checks.filter(({ status }) => status === 'SUCCESS').length,
      failed: checks.filter(({ status }) => status === 'FAILURE').map(describe),
      others: checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'FAILURE').map(describe),
    };
    if (required.has(name)) scored.push(result);
    else if (name.startsWith('tasks-')) tasks.push(result);
  }
  return { scored, tasks };
}

const describe = ({ id, status, errorMessage }: Check): string =>
  `${id} (${status === 'FAILURE' ? '' : `${status}: `}${errorMessage ?? 'no message'})`;

/** The list `server` of the requirements. */
async function requiredScenarios(revision: Revision): Promise<ReadonlySet<string>> {
  const text = await readFile(join(suiteFolder, 'requirements', `${revision}.yaml`), 'utf8');
  return new Set((parse(text) as { readonly server: readonly string[] }).server);
}

/** The exit code says nothing: the checks are counted. */
function runProgram(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, args, { cwd: frameworks, stdio: 'ignore' });
  const limit = setTimeout(() => child.kill(), 300_000);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => {
      clearTimeout(limit);
      resolve();
    });
  });
}
