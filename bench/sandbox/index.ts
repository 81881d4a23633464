/**
 * Runs the sandboxed executor for real: ordinary commands that must work, and attempts to get out that must fail.
 *
 *   npm run sandbox -- [--only network]
 *
 * `--only` tries one group of attempts, or `ordinary`. Needs Linux, bubblewrap, util-linux, curl and perl. Fails if one
 * is missing: a check that was skipped proves nothing. Exit code 1: an attempt got out, or an ordinary command failed.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { checkSandbox } from 'quittance/sandbox';
import { createProgress } from '../progress.ts';
import { printTable } from '../table.ts';
import { escapes, leaks, type Escape } from './escapes.ts';
import { ordinary } from './ordinary.ts';
import { createWorld, secret, type World } from './world.ts';

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const groups = [...new Set(escapes.map(({ group }) => group))];
if (values.only !== undefined && ![...groups, 'ordinary'].includes(values.only))
  fail(`--only takes one of ordinary, ${groups.join(', ')}; not ${values.only}.`);
const works = await checkSandbox();
if (!works.works) fail(`${works.problem}\n${works.remedy}`);
for (const program of ['curl', 'perl', 'git', 'strings', 'unshare'])
  if (!['/usr/bin', '/bin'].some((folder) => existsSync(`${folder}/${program}`)))
    fail(`The attempts need ${program}. Install it: apt-get install curl perl git binutils util-linux`);

// Secrets of the host's environment, which a command must not get.
process.env['DATABASE_URL'] = `postgres://u:${secret}@db/x`;
process.env['QUITTANCE_TOKEN'] = secret;
process.env['AWS_SECRET_ACCESS_KEY'] = secret;

let stopped = false;
process.once('SIGINT', () => (stopped = true));
const world = await createWorld();
const rows: string[][] = [];
const wrong: string[] = [];
let tried = 0;
let out = 0;
let shownOutside = 0;
let worked = 0;
let cost: Readonly<Record<string, number>> | undefined;

const chosen = escapes.filter(({ group }) => values.only === undefined || values.only === group);
const plain = values.only === undefined || values.only === 'ordinary' ? ordinary : [];
const progress = createProgress('attempts', chosen.length + plain.length);
try {
  for (const each of plain) {
    if (stopped) break;
    const run = await world.sh(each.text(world), each.tool);
    const isFine =
      (each.expect?.test(run.stdout) ?? true) && (each.check?.(world, run) ?? run.exitCode === 0);
    if (isFine) worked++;
    else
      wrong.push(
        `${each.name}: exit code ${run.exitCode}, ${run.stopped ?? ''}\n${run.stdout.slice(-500)}\n${run.stderr.slice(-500)}`,
      );
    rows.push(['ordinary', each.name, '', isFine ? 'works' : 'FAILED']);
    progress.step();
  }
  for (const escape of chosen) {
    if (stopped) break;
    const outside = escape.without === true ? await succeedsOutside(escape, world) : undefined;
    if (outside === false)
      wrong.push(`${escape.name}: the attempt does not work outside either, so it shows nothing`);
    if (outside === true) shownOutside++;
    const got = await succeeds(escape, world).catch((error: unknown) => {
      wrong.push(`${escape.name}: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    });
    tried++;
    if (got) {
      out++;
      wrong.push(`${escape.name}: got out`);
    }
    rows.push([
      escape.group,
      escape.name,
      outside === undefined ? '' : outside ? 'works' : 'fails',
      got ? 'OUT' : 'refused',
    ]);
    progress.step();
  }
  progress.done();
  printTable(['group', 'attempt', 'without sandbox', 'inside'], rows);
  cost = stopped ? undefined : await measureCost(world);
  if (cost !== undefined)
    printTable(
      ['start and end of a call', 'median ms'],
      Object.entries(cost).map(([name, ms]) => [name, ms.toFixed(1)]),
    );
} finally {
  await world.close();
}
for (const line of wrong) process.stdout.write(`${line}\n`);
process.stdout.write(
  `${JSON.stringify({
    sandbox: 'bubblewrap',
    version: works.version,
    user: process.getuid?.(),
    ordinary: plain.length,
    ordinary_worked: worked,
    escapes: tried,
    shown_outside: shownOutside,
    succeeded: out,
    ...(cost !== undefined && { cost_ms: cost }),
    stopped,
  })}\n`,
);
process.exitCode = wrong.length > 0 || stopped ? 1 : 0;

async function succeeds(escape: Escape, here: World): Promise<boolean> {
  const { text, tool, small, attempt, after } = escape;
  if (attempt !== undefined) return attempt(here);
  const run = await here.sh(text?.(here) ?? 'false', tool, small === true ? here.small : here.sandbox);
  if (process.env['QUITTANCE_SHOW'] !== undefined)
    process.stderr.write(
      `\n== ${escape.name}\n${run.stdout.slice(-600)}${run.stderr.slice(-600)}${run.stopped ?? ''}\n`,
    );
  if (escape.tries !== undefined && !escape.tries.test(run.stdout))
    wrong.push(`${escape.name}: the attempt was not made: ${run.stderr.slice(-500)}`);
  return leaks(run) || ((await after?.(here)) ?? false);
}

/** The same text on the host, as its user. */
async function succeedsOutside({ text }: Escape, here: World): Promise<boolean> {
  const child = spawn('/bin/bash', ['-c', text?.(here) ?? 'false'], {
    cwd: here.project,
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 20_000,
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(child, 'close');
  return leaks({ stdout: Buffer.concat(chunks).toString('latin1'), stderr: '' });
}

async function measureCost({ sandbox }: World): Promise<Readonly<Record<string, number>>> {
  const median = async (run: () => unknown): Promise<number> => {
    const times: number[] = [];
    for (let round = 0; round < 20; round++) {
      const started = performance.now();
      await run();
      times.push(performance.now() - started);
    }
    return Math.round((times.sort((left, right) => left - right)[10] ?? 0) * 10) / 10;
  };
  const read = sandbox.fileTools().find(({ name }) => name === 'read_file');
  const context = { toolName: 'read_file', signal: new AbortController().signal, reached: () => undefined };
  return {
    'true, without sandbox': await median(() => execFileSync('/bin/true')),
    'true, in the sandbox': await median(() => sandbox.run('Bash', ['/bin/true'])),
    'true, in the sandbox with a network': await median(() => sandbox.run('Net', ['/bin/true'])),
    // The body reads only these three.
    read_file: await median(() =>
      read?.run({ path: 'a.txt' }, context as unknown as Parameters<typeof read.run>[1]),
    ),
  };
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
