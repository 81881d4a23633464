/** Only a SQLite ledger needs better-sqlite3. Each test runs a process that cannot find the package. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { isPackageBuilt, packageArguments } from './frameworks/suite/package-arguments.ts';
import { root } from './sources.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'quittance-no-sqlite-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Makes Node fail for modules that match the pattern, as for a module that it cannot load. */
const hide = (pattern: RegExp, code: string): string =>
  `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve(specifier, context, next) {
      if (!${pattern}.test(specifier)) return next(specifier, context);
      throw Object.assign(new Error('Cannot load ' + specifier), { code: '${code}' });
    },
  });
`)}`;
const noPackage = hide(/^better-sqlite3(?:\/|$)/, 'MODULE_NOT_FOUND');
const noBinary = hide(/\.node$/, 'ERR_DLOPEN_FAILED');

const withoutPackage = (...args: readonly string[]): Promise<{ stdout: string; stderr: string }> =>
  run(process.execPath, ['--import', noPackage, ...packageArguments(), ...args], { cwd: root });

async function evaluate(program: string, hiding: string = noPackage): Promise<string> {
  const args = ['--import', hiding, ...packageArguments(), '--input-type=module', '--eval', program];
  return (await run(process.execPath, args, { cwd: root })).stdout.trim();
}

test.each([
  'quittance',
  'quittance/events',
  'quittance/wire',
  'quittance/ledger',
  'quittance/contracts',
  'quittance/http',
  'quittance/testing',
])('importing %s does not load better-sqlite3', async (door) => {
  expect(await evaluate(`await import('${door}'); console.log('imported')`)).toBe('imported');
});

test('a runtime with a ledger in memory settles a call without the package', async () => {
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

test('opening a SQLite ledger without the package says what to install, and creates no file', async () => {
  const path = join(folder, 'deep', 'ledger.db');
  const answer = await evaluate(`
    import { isQuittanceError } from 'quittance';
    import { openLedger } from 'quittance/ledger';
    const error = await openLedger(${JSON.stringify(`sqlite:${path}`)}).catch((thrown) => thrown);
    console.log(isQuittanceError(error, 'config.invalid'), error.message, error.cause.code);
  `);
  expect(answer).toMatch(/^true .*npm install better-sqlite3.*memory:.* MODULE_NOT_FOUND$/);
  expect(existsSync(join(folder, 'deep'))).toBe(false);
});

test('a binary for another system is an error that says so', async () => {
  const url = JSON.stringify(`sqlite:${join(folder, 'ledger.db')}`);
  const answer = await evaluate(
    `import { openLedger } from 'quittance/ledger';
    const error = await openLedger(${url}).catch((thrown) => thrown);
    console.log(error.code, error.message);`,
    noBinary,
  );
  expect(answer).toMatch(/^config\.invalid .*binary cannot be loaded here.*npm install better-sqlite3/);
});

test('the command line works on contracts without the package, and says what to install for a ledger', async () => {
  const cli = join(root, isPackageBuilt() ? 'dist/cli.js' : 'src/cli/main.ts');
  expect((await withoutPackage(cli, 'contracts', 'check', 'templates/file-agent.yaml')).stderr).toBe('');
  const ledger = join(folder, 'there.db');
  writeFileSync(ledger, 'SQLite format 3\0');
  const failed = await withoutPackage(cli, 'verify', '--ledger', ledger).catch((error: unknown) => error);
  expect(failed).toMatchObject({ stderr: expect.stringContaining('npm install better-sqlite3') });
});
