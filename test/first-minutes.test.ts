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
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import type { Job } from 'quittance/http';
import { evenPriority } from './even-priority-arguments.ts';
import { isPackageBuilt } from './frameworks/suite/package-arguments.ts';
import { root } from './sources.ts';

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
  for (const name of [
    'src',
    'console',
    'schema',
    'templates',
    'package.json',
    'tsconfig.json',
    'tsconfig.src.json',
    'tsdown.config.ts',
    'CHANGELOG.md',
    'README.md',
    'LICENSE',
  ])
    if (existsSync(join(root, name))) cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  if (isPackageBuilt()) cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
  else {
    await run('tsdown', ['--logLevel', 'error'], { cwd: copy, env });
    await run('npm', ['run', '--silent', 'build:console', '--', '--logLevel', 'error'], { cwd: copy, env });
  }
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: copy,
    env,
  });
  const [packed] = JSON.parse(stdout) as { filename: string }[];
  const home = join(folder, 'home');
  mkdirSync(home);
  await run(
    'npm',
    [
      'install',
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      '--no-save',
      join(folder, packed?.filename ?? ''),
    ],
    { cwd: home, env },
  );
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

const quittance = (args: readonly string[], cwd: string) =>
  run(process.execPath, [cli, ...args], { cwd, env: { ...process.env, NODE_OPTIONS: '' } });

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
    // The shop has only just opened.
    await expect.poll(() => type(first)).toContain('CONFIRMATION');
    await expect.poll(() => type(second)).toContain('look_up_order');
  } finally {
    await endAll(demo, 'SIGINT');
  }
});

describe('the package, installed in an empty folder', () => {
  it('contains no source except the style sheet, and reads its templates', async () => {
    const home = join(folder, 'home');
    expect(readdirSync(join(home, 'node_modules/quittance/src'), { recursive: true })).toEqual([
      'react',
      'react/react.css',
    ]);
    const program = `import { contractsFromTemplate, templateNames } from 'quittance/contracts';
      console.log(templateNames.map((name) => contractsFromTemplate(name).documents.length).join())`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: home,
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    expect(stdout).toBe('1,1,1,1,1\n');
  });

  it('writes a project that runs, with a ledger that verifies', async () => {
    const home = join(folder, 'home');
    const made = await quittance(['init'], home);
    expect(made.stdout).toContain('node agent.mjs');
    expect(readdirSync(home)).toEqual(
      expect.arrayContaining([
        '.gitignore',
        '.quittance',
        'agent.mjs',
        'contracts.yaml',
        'package.json',
        'quittance.mjs',
        'workspace',
      ]),
    );
    const ran = await run(process.execPath, ['agent.mjs'], {
      cwd: home,
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    expect(ran.stdout).toMatch(/^900 ToolExecutionResult/m);
    expect(ran.stdout).toMatch(/^90000 ToolDenied A refund of 90000 cents needs a person\./m);
    expect((await quittance(['calls'], home)).stdout).toContain('policy.contract');
    expect((await quittance(['verify'], home)).stdout).toMatch(/The ledger is intact/);
    await expect(quittance(['init'], home)).rejects.toMatchObject({ code: 2 });
    // The first thing people change.
    const rules = join(home, 'contracts.yaml');
    writeFileSync(rules, readFileSync(rules, 'utf8').replace('action: block', 'action: ask'));
    const asked = await run(process.execPath, ['agent.mjs'], {
      cwd: home,
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    expect(asked).toMatchObject({ stdout: expect.stringMatching(/^90000 awaits approval/m), stderr: '' });
    expect((await quittance(['pending'], home)).stdout).toContain('call_90000');
  });

  it('adds files to an existing project, says what is missing, and changes nothing', async () => {
    const [home, file] = [join(folder, 'home', 'there already'), join(folder, 'home', 'no-folder')];
    mkdirSync(home);
    writeFileSync(join(home, 'package.json'), '{}');
    writeFileSync(join(home, '.gitignore'), 'dist\n');
    const made = await quittance(['init', 'there already'], join(folder, 'home'));
    expect(made.stdout).toContain("cd 'there already'\necho '.quittance/' >> .gitignore\nnode agent.mjs");
    expect(readFileSync(join(home, 'package.json'), 'utf8')).toBe('{}');
    expect(readFileSync(join(home, '.gitignore'), 'utf8')).toBe('dist\n');
    await expect(quittance(['init'], home)).rejects.toMatchObject({
      stderr: expect.stringMatching(/would overwrite quittance\.mjs, agent\.mjs, contracts\.yaml/),
    });
    writeFileSync(file, '');
    for (const args of [
      ['init', 'no-folder'],
      ['demo', '--ledger', 'no-folder/shop.db', '--port', '0', '--no-open'],
    ])
      await expect(quittance(args, join(folder, 'home'))).rejects.toMatchObject({
        code: 3,
        stderr: expect.stringMatching(
          /Cannot write to the folder .*no-folder: a file .*\n {2}try: quittance/,
        ),
      });
  });

  it('opens the console on a demo shop, keeps its ledger when stopped, and continues with it', async () => {
    const home = join(folder, 'shop');
    mkdirSync(home);
    const calls = async (): Promise<number> => {
      const demo = spawn(process.execPath, [...evenPriority, cli, 'demo', '--port', '0', '--json'], {
        cwd: home,
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
