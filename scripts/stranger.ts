/**
 * The path of a newcomer, timed: `npm run stranger`. From an empty folder it installs the packed package, creates a
 * project, runs its test and starts the agent. Then it approves the held call in the console, with a real browser. It
 * prints a table and one line of JSON. It needs a built package (`npm run build`), and a registry or its cache.
 */
import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { approve } from '../test/approve.ts';
import { makeFileToken } from '../test/make-token.ts';
import { launchBrowser } from '../test/browser.ts';

const { values } = parseArgs({
  options: {
    framework: { type: 'string', default: 'none' },
    picture: { type: 'string' },
  },
});
const root = join(import.meta.dirname, '..');
if (!existsSync(join(root, 'packages/server/dist/console/index.html'))) {
  console.error('There is no packages/server/dist/console. Build it first: npm run build');
  process.exit(2);
}
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'quittance-stranger-'));
const project = join(folder, 'my-agent');
/** Without what this run of npm says about its own package and script. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^npm_(?:package|lifecycle)_|^npm_config_local_prefix$/.test(name),
  ),
);
const children: ChildProcess[] = [];
const steps: { readonly step: string; readonly seconds: number }[] = [];

async function time<Result>(step: string, work: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now();
  const result = await work();
  steps.push({ step, seconds: Math.round(performance.now() - startedAt) / 1_000 });
  return result;
}

/** Starts a script of the project, and collects what it prints. */
function start(...args: readonly string[]): { readonly said: () => string; readonly ended: Promise<void> } {
  const child = spawn('npm', ['run', '--silent', ...args], { cwd: project, env, detached: true });
  children.push(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (said += String(piece)));
  return { said: () => said, ended: new Promise((resolve) => child.once('close', () => resolve())) };
}

/** Waits until the program has printed a match. */
async function waitFor(said: () => string, pattern: RegExp): Promise<RegExpExecArray> {
  for (let round = 0; round < 1_200; round++) {
    const found = pattern.exec(said());
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Expected ${pattern} within a minute. It said: ${said()}`);
}

const install = ['install', '--prefer-offline', '--no-audit', '--no-fund'];

try {
  const { stdout } = await run(
    'npm',
    ['pack', '--workspaces', '--json', '--ignore-scripts', '--pack-destination', folder],
    {
      cwd: root,
      maxBuffer: 2 ** 26,
    },
  );
  const packed = Object.values(JSON.parse(stdout) as readonly { readonly filename: string }[]) // documented by npm
    .map(({ filename }) => join(folder, filename))
    .filter((path) => !path.includes('console'));
  mkdirSync(join(folder, 'empty'));
  const options = ['--framework', values.framework, '--store', 'sqlite', '--rules', 'ask'];
  await time('install the package in an empty folder', () =>
    run('npm', [...install, ...packed], { cwd: join(folder, 'empty'), env }),
  );
  await time('quittance init', () =>
    run('npx', ['quittance', 'init', project, ...options], { cwd: join(folder, 'empty'), env }),
  );
  await time('install the project', () => run('npm', [...install, ...packed], { cwd: project, env }));
  await time('npm test', () => run('npm', ['test'], { cwd: project, env }));
  const agent = await time('npm start, until the call is held', async () => {
    const started = start('start');
    await waitFor(started.said, /awaits approval/);
    return started;
  });
  const link = await time('npm run console, until the link', async () => {
    // Without a terminal, the server gives a link only to the holder of a token.
    env['QUITTANCE_TOKEN'] = makeFileToken(join(project, '.quittance', 'ledger.db'));
    const { said } = start('console', '--', '--port', '0', '--json');
    const [line] = await waitFor(said, /\{.*"link".*\}/);
    return (JSON.parse(line) as { link: string }).link;
  });
  await time('open the console and approve', async () => {
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(link);
      await page.getByRole('button', { name: /^Log in as/ }).click();
      await page.locator('#page h1').waitFor();
      await page
        .getByRole('link', { name: /^Inbox/ })
        .first()
        .click();
      await page.locator('button[aria-disabled="false"]', { hasText: 'Approve' }).first().waitFor();
      if (values.picture !== undefined) await page.screenshot({ path: values.picture });
      await approve(page.locator('main'));
      await waitFor(agent.said, /call_2 (?!awaits)\w/);
      await agent.ended;
    } finally {
      await browser.close();
    }
  });
  if (!/call_2 completed \S/.test(agent.said())) throw new Error(`The refund did not run: ${agent.said()}`);
  const seconds = Math.round(steps.reduce((sum, step) => sum + step.seconds, 0) * 1_000) / 1_000;
  for (const step of [...steps, { step: 'all', seconds }])
    console.log(`${step.seconds.toFixed(1).padStart(7)} s  ${step.step}`);
  console.log(JSON.stringify({ command: 'stranger', framework: values.framework, seconds, steps }));
} finally {
  for (const { pid } of children)
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGTERM');
    } catch {
      // It has ended.
    }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
