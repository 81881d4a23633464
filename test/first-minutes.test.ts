/** The first experience: the packed package in an empty folder. */
import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest';
import { makeFileToken } from './make-token.ts';
import type { Job } from '@quittance/server';
import { openLedger } from 'quittance/ledger';
import type { CallQuery } from '../packages/quittance/src/ledger/call-query.ts';
import { evenPriority } from './even-priority-arguments.ts';
import { eventually } from './eventually.ts';
import { isPackageBuilt } from './frameworks/suite/package-arguments.ts';
import { readPackages } from '../scripts/packages.ts';
import { root } from './sources.ts';
import { findCalls } from '../packages/quittance/src/ledger/reads.ts';

const run = promisify(execFile);
let folder = '';
let cli = '';

/** Builds unless that was just done, packs the result, and installs it. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-first-'));
  const build = join(root, 'node_modules/.bin');
  const env = { ...process.env, PATH: `${build}:${process.env['PATH'] ?? ''}` };
  // Into a copy: other tests read dist while this one builds.
  const copy = join(folder, 'checkout');
  mkdirSync(copy);
  for (const name of ['package.json', 'tsconfig.json', 'tsconfig.src.json', 'tsdown.config.ts', 'scripts'])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  cpSync(join(root, 'packages'), join(copy, 'packages'), {
    recursive: true,
    filter: (path) => basename(path) !== 'dist' || isPackageBuilt(),
  });
  // The dependencies of the root, and the packages of the copy.
  const modules = join(copy, 'node_modules');
  mkdirSync(join(modules, '@quittance'), { recursive: true });
  const own = readPackages();
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@quittance' && !own.some((each) => each.name === name))
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
  for (const { name, folder: from } of own) symlinkSync(join(copy, from), join(modules, name));
  if (!isPackageBuilt()) {
    await run('tsdown', ['--logLevel', 'error'], { cwd: copy, env });
    await run('npm', ['run', '--silent', 'build:console', '--', '--logLevel', 'error'], { cwd: copy, env });
  }
  const wanted = ['adapter-kit', 'cli', 'mcp', 'quittance', 'server'].flatMap((name) => [
    '-w',
    `packages/${name}`,
  ]);
  const { stdout } = await run(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, ...wanted],
    { cwd: copy, env },
  );
  const packed = Object.values(JSON.parse(stdout) as readonly { readonly filename: string }[]); // documented by npm
  const home = join(folder, 'home');
  mkdirSync(home);
  const files = packed.map(({ filename }) => join(folder, filename));
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--no-save', ...files], {
    cwd: home,
    env,
  });
  cli = join(home, 'node_modules/.bin/quittance');
}, 240_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Demos that run. A test that timed out never gets to its end, and its demo would run for ever. */
const demos = new Set<ChildProcess>();
afterEach(async () => {
  for (const demo of demos) await endAll(demo, 'SIGKILL');
});

/** Ends a program and everything it started. */
async function endAll(program: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const hasEnded = program.exitCode !== null || program.signalCode !== null;
  const ended = hasEnded ? Promise.resolve() : once(program, 'exit');
  try {
    if (program.pid !== undefined) process.kill(-program.pid, signal);
  } catch {
    // They have ended.
  }
  await ended;
  demos.delete(program);
  return program.exitCode;
}

const quittance = (args: readonly string[], cwd: string, token = '') =>
  run(process.execPath, [cli, ...args], {
    cwd,
    env: { ...process.env, NODE_OPTIONS: '', QUITTANCE_TOKEN: token },
  });

test('the commands that a checkout suggests for another terminal work there', async () => {
  const cwd = join(folder, 'checkout');
  const options = ['--port', '0', '--no-open', '--ledger', 'its own/shop.db'];
  const demo = spawn('npm', ['run', '--silent', 'quittance', '--', 'demo', ...options], {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  demos.add(demo);
  try {
    let said = '';
    for await (const piece of demo.stderr) {
      said += String(piece);
      if (said.includes('Press Ctrl-C to stop.')) break;
    }
    const [, first = '', second = ''] = /In another terminal: (.+), (.+)\. Press Ctrl-C/.exec(said) ?? [];
    const type = async (command: string): Promise<string> =>
      (await run('sh', ['-c', command], { cwd })).stdout;
    // The shop has only just opened. Each command starts npm and the program, so they start when there is something.
    const shop = await openLedger(join(cwd, 'its own/shop.db'));
    onTestFinished(() => shop.close());
    const find = async (query: CallQuery): Promise<void> =>
      expect((await findCalls(shop, query)).rows).not.toHaveLength(0);
    await eventually(() => find({ status: 'held' }));
    await eventually(() => find({ toolName: 'look_up_order' }));
    expect(await type(first)).toContain('CONFIRMATION');
    expect(await type(second)).toContain('look_up_order');
  } finally {
    await endAll(demo, 'SIGINT');
  }
});

describe('the package, installed in an empty folder', () => {
  it('reads its templates', async () => {
    const home = join(folder, 'home');
    const program = `import { contractsFromTemplate, templateNames } from 'quittance/contracts';
      console.log(templateNames.map((name) => contractsFromTemplate(name).documents.length).join())`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: home,
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    expect(stdout).toBe('1,1,1,1,1\n');
  });

  it('names the packages to install for a ledger in PostgreSQL', async () => {
    const failed = quittance(['calls', '--ledger', 'postgres://localhost/agents'], join(folder, 'home'));
    await expect(failed).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('npm install @quittance/postgres pg') as string,
    });
  });

  it('writes a project that runs, with types, a test and a ledger that verifies', async () => {
    const home = join(folder, 'home');
    const made = await quittance(
      ['init', '--framework', 'none', '--store', 'sqlite', '--rules', 'block'],
      home,
    );
    expect(made.stdout).toMatch(/^npm start$/m);
    for (const file of ['.gitignore', 'agent.test.ts', 'contracts.yaml', 'package.json', 'workspace'])
      expect(readdirSync(home)).toContain(file);
    const node = (...args: readonly string[]) =>
      run(process.execPath, args, { cwd: home, env: { PATH: process.env['PATH'], NODE_OPTIONS: '' } });
    // What `npm install` adds.
    for (const name of ['zod', '@types/node', 'undici-types', 'typescript'])
      if (!existsSync(join(home, 'node_modules', name))) {
        mkdirSync(dirname(join(home, 'node_modules', name)), { recursive: true });
        symlinkSync(join(root, 'node_modules', name), join(home, 'node_modules', name));
      }
    // Against the declarations of the package.
    const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript-native/package.json')));
    expect(await node(tsc)).toMatchObject({ stdout: '' });
    expect((await node('--test')).stdout).toMatch(/^. pass 1$/m);
    const ran = await node('main.ts');
    expect(ran.stdout).toMatch(/^call_1 completed/m);
    expect(ran.stdout).toMatch(/^call_2 blocked large-refunds$/m);
    expect((await quittance(['calls'], home)).stdout).toContain('policy.contract');
    expect((await quittance(['verify'], home)).stdout).toMatch(/The ledger is intact/);
    await expect(quittance(['init', '--yes'], home)).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/would overwrite .*agent\.ts/),
    });
    // The first thing people change. The agent then waits for a person.
    const rules = join(home, 'contracts.yaml');
    writeFileSync(rules, readFileSync(rules, 'utf8').replace('action: block', 'action: ask'));
    const asking = node('main.ts');
    let pending = '';
    const read = async (): Promise<string> =>
      (pending = (await quittance(['pending', '--json'], home)).stdout);
    await expect.poll(read, { interval: 500 }).not.toBe('');
    const { confirmationId, inputDigest } = JSON.parse(pending) as Record<string, string>;
    // A program has no terminal, so it needs a token.
    const token = makeFileToken(join(home, '.quittance', 'ledger.db'), 'approver', 'Ada');
    await quittance(['approve', `${confirmationId}`, '--digest', `${inputDigest}`], home, token);
    expect((await asking).stdout).toMatch(/call_2 awaits approval(?:.|\n)*^call_2 completed Ada$/m);
  });

  it('says what is in the way of a new folder', async () => {
    const home = join(folder, 'home');
    writeFileSync(join(home, 'no-folder'), '');
    for (const args of [
      ['init', 'no-folder', '--yes'],
      ['demo', '--ledger', 'no-folder/shop.db', '--port', '0', '--no-open'],
    ])
      await expect(quittance(args, home)).rejects.toMatchObject({
        code: 3,
        stderr: expect.stringMatching(
          /Cannot write to the folder .*no-folder.*: a file .*\n {2}try: quittance/,
        ),
      });
  });

  it('opens the console on a demo shop, keeps its ledger when stopped, and continues with it', async () => {
    const home = join(folder, 'shop');
    mkdirSync(home);
    const calls = async (): Promise<number> => {
      const demo = spawn(process.execPath, [...evenPriority, cli, 'demo', '--port', '0', '--json'], {
        cwd: home,
        env: {
          ...process.env,
          QUITTANCE_TOKEN: makeFileToken(join(home, '.quittance', 'ledger.db')),
        },
        stdio: ['ignore', 'pipe', 'inherit'],
        detached: true,
      });
      demos.add(demo);
      try {
        const [chunk] = (await once(demo.stdout, 'data')) as [Buffer];
        const { url, link, token } = JSON.parse(String(chunk)) as {
          url: string;
          link: string;
          token: string;
        };
        const code = new URL(link).searchParams.get('code') ?? '';
        const login = await fetch(new URL('/login', link), {
          method: 'POST',
          redirect: 'manual',
          headers: { origin: new URL(link).origin },
          body: new URLSearchParams({ code }),
        });
        expect(login.status).toBeGreaterThanOrEqual(300);
        const page = await fetch(url, {
          headers: { cookie: login.headers.get('set-cookie')?.split(';')[0] ?? '' },
        });
        expect(await page.text()).toContain('<div id="root">');
        const ask = async (path: string, init: RequestInit = {}): Promise<unknown> =>
          (
            await fetch(url + path, {
              ...init,
              headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            })
          ).json();
        // In its own thread, whose file must be in the package.
        let job = (await ask('/v1/verify', { method: 'POST', body: '{}' })) as Job;
        while (job.status === 'running') {
          await new Promise((resolve) => setTimeout(resolve, 50));
          job = (await ask(`/v1/jobs/${job.jobId}`)) as Job;
        }
        expect(job).toMatchObject({ status: 'done', result: { ok: true } });
        // The same holds for the threads that read the ledger, work on typed rules and write exports.
        expect(await ask('/v1/confirmations')).toHaveProperty('rows');
        const documents = [{ name: 'a.yaml', text: 'nothing' }];
        expect(
          await ask('/v1/contracts/validate', { method: 'POST', body: JSON.stringify({ documents }) }),
        ).toMatchObject({ ok: false });
        const exported = await fetch(`${url}/v1/export`, { headers: { authorization: `Bearer ${token}` } });
        expect((await exported.text()).trimEnd().split('\n').at(-1)).toContain('quittanceExportEnd');
        // Soon there is something to approve, and an unresolved call.
        for (;;) {
          const { now, totals } = (await ask('/v1/stats?buckets=1')) as {
            // Missing if a busy machine took longer than a request may take.
            now?: { held: number; unresolved: number };
            totals: { calls: number };
          };
          if (now !== undefined && now.held > 0 && now.unresolved > 0 && totals.calls >= 12)
            return totals.calls;
          await new Promise((resolve) => setTimeout(resolve, 200));
        }
      } finally {
        expect(await endAll(demo, 'SIGINT')).toBe(130);
      }
    };
    const first = await calls();
    expect(existsSync(join(home, '.quittance/ledger.db'))).toBe(true);
    expect((await quittance(['verify'], home)).stdout).toMatch(/The ledger is intact/);
    expect(await calls()).toBeGreaterThanOrEqual(first);
  });
});
