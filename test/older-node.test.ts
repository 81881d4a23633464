/** Only a SQLite ledger needs `node:sqlite`, which an older Node lacks. Each test runs a process that cannot find it. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { isPackageBuilt, packageArguments } from './frameworks/suite/package-arguments.ts';
import manifest from '../package.json' with { type: 'json' };
import { root } from './sources.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'quittance-older-node-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Makes Node fail to find the module. */
const hidden = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== 'node:sqlite') return next(specifier, context);
      throw Object.assign(new Error('No such built-in module'), { code: 'ERR_UNKNOWN_BUILTIN_MODULE' });
    },
  });
`)}`;

const withoutSqlite = (...args: readonly string[]): Promise<{ stdout: string; stderr: string }> =>
  run(process.execPath, ['--import', hidden, ...packageArguments(), ...args], { cwd: root });

const evaluate = async (program: string): Promise<string> =>
  (await withoutSqlite('--input-type=module', '--eval', program)).stdout.trim();

test.each([
  'quittance',
  'quittance/events',
  'quittance/wire',
  'quittance/ledger',
  'quittance/contracts',
  '@quittance/server',
  'quittance/testing',
])('importing %s does not load SQLite', async (door) => {
  expect(await evaluate(`await import('${door}'); console.log('imported')`)).toBe('imported');
});

test('a runtime with a ledger in memory settles a call without SQLite', async () => {
  const answer = await evaluate(`
    import { createRuntime, defineTool } from 'quittance';
    import { openLedger } from 'quittance/ledger';
    const ledger = await openLedger('memory:');
    const read = defineTool({ name: 'read_note', description: 'Reads.', input: { type: 'object' }, run: () => 'hello' });
    const runtime = createRuntime({ tools: [read], ledger });
    const outcome = await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'read_note', arguments: {} });
    console.log(outcome.type);
    await runtime.close();
  `);
  expect(answer).toBe('ToolExecutionResult');
});

test('opening a SQLite ledger on an older Node says what to install, and creates no file', async () => {
  const path = join(folder, 'deep', 'ledger.db');
  const answer = await evaluate(`
    import { isQuittanceError } from 'quittance';
    import { openLedger } from 'quittance/ledger';
    const error = await openLedger(${JSON.stringify(`sqlite:${path}`)}).catch((thrown) => thrown);
    console.log(isQuittanceError(error, 'config.invalid'), error.message);
  `);
  expect(answer).toMatch(/^true .*needs Node 24\.16 or newer.*nvm install 24.*memory:/);
  expect(existsSync(join(folder, 'deep'))).toBe(false);
});

test('the command line works on contracts without SQLite, and says what to install for a ledger', async () => {
  const cli = join(root, isPackageBuilt() ? 'packages/cli/dist/main.js' : 'packages/cli/src/main.ts');
  expect(
    (await withoutSqlite(cli, 'contracts', 'check', 'packages/quittance/templates/file-agent.yaml')).stderr,
  ).toBe('');
  const ledger = join(folder, 'there.db');
  writeFileSync(ledger, 'SQLite format 3\0');
  const failed = await withoutSqlite(cli, 'verify', '--ledger', ledger).catch((error: unknown) => error);
  expect(failed).toMatchObject({ stderr: expect.stringContaining('needs Node 24.16 or newer') });
});

test.each([
  'README.md',
  'docs/getting-started.md',
  'docs/mcp-guide.md',
  'docs/platforms.md',
  'docs/ledger.md',
  'examples/apps/support-agent/package.json',
  'packages/cli/src/main.ts',
  'packages/cli/src/commands/init.ts',
  'packages/cli/src/doctor/check-versions.ts',
  'packages/quittance/src/store/sqlite/database.ts',
  'tsdown.config.ts',
])('%s names the oldest Node that the package supports', (path) => {
  const oldest = manifest.engines.node.replace('>=', '');
  expect(readFileSync(join(root, path), 'utf8')).toContain(oldest);
});
