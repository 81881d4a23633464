import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import { fillLedger } from '../../../test/fill-ledger.ts';
import { runCli } from '../../../test/run-cli.ts';
import { confirming, runProgramHere } from '../../../test/run-program.ts';
import { optionHelp } from './command.ts';
import { commands } from './commands.ts';
import { commandHelp } from './program-help.ts';
import { readVersion } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-cli-'));
const ledger = join(folder, 'ledger.db');
const env = { QUITTANCE_LEDGER: ledger };
const on = (...args: string[]): ReturnType<typeof runCli> => runProgramHere(args, { env });

beforeAll(() => fillLedger(ledger));
afterAll(() => rmSync(folder, { recursive: true }));

/** Characters that must never reach a terminal: control and escape characters, directions, tags. */
const dangerous = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u;
const expectHarmless = (output: string): void => {
  for (const line of output.split('\n')) expect(line).not.toMatch(dangerous);
};
const jsonLines = (output: string): Record<string, unknown>[] =>
  output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
describe('calls', () => {
  test.each([80, 100, 140])('fit into %i columns', async (columns) => {
    const { code, out, err } = await runProgramHere(['calls'], { env: { ...env, COLUMNS: String(columns) } });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out.trimEnd().split('\n');
    expect(lines).toHaveLength(12);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
    for (const word of ['AGE', 'CALL', 'TOOL', 'STATUS', 'WHY', 'ARGUMENTS'])
      expect(lines[0]).toContain(word);
    expect(out).toContain('call_timeout');
    expectHarmless(out);
  });

  test('are not cut without a terminal', async () => {
    const { out } = await on('calls', '--text', 'call_denied');
    expect(out).toContain('VIP orders are handled by people.');
  });

  test.each<[string[], string[]]>([
    [['--outcome', 'timed_out'], ['call_timeout']],
    [['--outcome', 'ToolTimeout'], ['call_timeout']],
    [['--outcome', 'succeeded', '--text', 'call_artifact'], ['call_artifact']],
    [['--outcome', 'indeterminate'], []],
    [['--session', 'ticket-43'], ['call_read']],
    [['--tool', 'refund', '--outcome', 'denied'], ['call_denied']],
    [['--code', 'tool.network_error'], ['call_failed']],
    [['--mode', 'destructive'], ['call_confirmed']],
    [['--text', 'ARTIF'], ['call_artifact']],
    [['--status', 'running'], []],
    [['--unresolved'], ['call_failed']],
    [['--since', '1h', '--until', '1m'], []],
    [['--since', '2020-01-01', '--limit', '1'], ['call_read']],
  ])('%j finds %j', async (args, expected) => {
    const { code, out } = await on('calls', '--json', ...args);
    expect(code).toBe(0);
    expect(out === '' ? [] : jsonLines(out).map((call) => call['callId'])).toEqual(expected);
  });

  test('continue page by page from a cursor', async () => {
    const first = await on('calls', '--limit', '5');
    const cursor = /--cursor (\S+)/.exec(first.err)?.[1] ?? '';
    const all = jsonLines((await on('calls', '--all', '--json')).out).map((call) => call['callId']);
    const rest = jsonLines((await on('calls', '--limit', '50', '--cursor', cursor, '--json')).out);
    expect(all).toHaveLength(11);
    expect(rest.map((call) => call['callId'])).toEqual(all.slice(5));
  });

  test('are JSON with times in UTC', async () => {
    const [call] = jsonLines((await on('calls', '--json', '--text', 'call_timeout')).out);
    expect(call).toMatchObject({
      sessionId: 'ticket-42',
      toolName: 'charge',
      outcome: 'ToolTimeout',
      code: 'tool.timeout',
      unresolved: false,
      requestedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
    });
  });

  test('end without an error when the reader ends', async () => {
    const script = `"$0" --conditions=quittance-source packages/cli/src/main.ts calls --all --json | head -n 1`;
    const shell = spawn('bash', ['-o', 'pipefail', '-c', script, process.execPath], {
      env: { ...process.env, ...env },
    });
    const [out, err, [code]] = await Promise.all([
      text(shell.stdout),
      text(shell.stderr),
      once(shell, 'close'),
    ]);
    expect({ lines: out.trimEnd().split('\n').length, err, code }).toEqual({ lines: 1, err: '', code: 0 });
  });
});

describe('show', () => {
  test.each(['call_refund', 'call_denied', 'call_confirmed', 'call_timeout', 'call_failed', 'call_artifact'])(
    '%s, in 80 columns',
    async (callId) => {
      const { code, out, err } = await runProgramHere(['show', callId], { env: { ...env, COLUMNS: '80' } });
      expect({ code, err }).toEqual({ code: 0, err: '' });
      for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
      for (const title of ['Timeline', 'Input', 'Sent to the model', 'Records'])
        expect(out).toContain(`\n${title}\n`);
      expectHarmless(out);
    },
  );

  test('shows how the input was changed on its way to the tool', async () => {
    const { out } = await on('show', 'call_read', '--session', 'ticket-42');
    expect(out).toMatch(
      /requested\n.*"id": "7"\n.*\n.*effective: the input that the tool received\n.*\n.*"id": 7\n/s,
    );
    expect(out).toContain('$.id: numeric_string');
    expect(out.match(/sha256:[0-9a-f]{64}/g)).toHaveLength(2);
  });

  test('shows confirmations, late results and doubt', async () => {
    expect((await on('show', 'call_confirmed')).out).toContain(
      'approved by Ada (self-asserted name; also asked for this call): It is a test order.',
    );
    expect((await on('show', 'call_timeout')).out).toMatch(/Late results\n {2}attempt 1 returned after/);
    expect((await on('show', 'call_failed')).out).toContain('quittance reconcile call_failed');
  });

  test('is one JSON object', async () => {
    const [call] = jsonLines((await on('show', 'call_confirmed', '--json')).out);
    expect(call).toMatchObject({
      callId: 'call_confirmed',
      settled: {
        content: '{"deleted":true}',
        outcome: { type: 'ToolExecutionResult', output: { deleted: true } },
      },
      confirmation: { status: 'approved', by: { type: 'person', name: 'Ada' } },
      audit: [{ outcome: { kind: 'requires_confirmation' } }, { outcome: { kind: 'completed' } }],
    });
  });

  test('accepts the beginning of an id, and the displayed form of a dangerous one', async () => {
    expect((await on('show', 'call_conf…')).out).toMatch(/^call_confirmed /);
    const { code, out } = await on('show', 'call_\\u001b[31m');
    expect(code).toBe(0);
    expect(out).toContain('\\u001b]0;owned\\u0007');
    expectHarmless(out);
    expectHarmless((await on('show', 'call_\\u001b', '--json')).out.trimEnd());
  });

  test('asks for a choice if several calls have the id, and reports an unknown id', async () => {
    const several = await on('show', 'call_read');
    expect(several).toMatchObject({ code: 2, out: '' });
    expect(several.err).toContain('quittance show call_read --session ticket-43');
    const none = await on('show', 'call_x');
    expect(none).toMatchObject({ code: 1, out: '' });
    expect(none.err).toContain('There is no call "call_x".');
  });
});

test('lists sessions with the outcomes of their calls', async () => {
  expect((await on('sessions')).out).toMatch(/ticket-42 +10 +· +3 +2 +1 {2}/);
  expect(jsonLines((await on('sessions', '--json', '--text', '42')).out)).toMatchObject([
    { sessionId: 'ticket-42', calls: 10, failures: 3, denials: 2, openCalls: 0, unresolved: 1 },
  ]);
});

test('rebuild restores the read tables exactly', async () => {
  const before = await on('calls', '--json', '--all');
  expect(await on('rebuild')).toMatchObject({ code: 0, err: '' });
  expect((await on('calls', '--json', '--all')).out).toBe(before.out);
});

test('reconcile lists unresolved calls and accepts one resolution', async () => {
  const copy = join(folder, 'reconcile.db');
  for (const name of readdirSync(folder).filter((each) => each.startsWith('ledger.db')))
    cpSync(join(folder, name), join(folder, name.replace('ledger.db', 'reconcile.db')), { recursive: true });
  const there = (...args: string[]): ReturnType<typeof runCli> =>
    runProgramHere([...args, '--ledger', copy], { readTyped: confirming });
  expect((await there('reconcile')).out).toMatch(/call_failed +send_mail +failed \?/);
  const incomplete = await there('reconcile', 'call_failed', '--as', 'failed', '--reason', 'Seen.');
  expect(incomplete).toMatchObject({ code: 2, out: '' });
  expect(incomplete.err).toContain('--by is missing');
  const found = ['reconcile', 'call_failed', '--as', 'safe-to-retry', '--by', 'Ada'];
  // The reason is optional, as in the console.
  expect(await there(...found)).toMatchObject({ code: 0, err: '' });
  expect(await there(...found)).toMatchObject({ code: 1, out: '' });
  expect(await there('reconcile')).toMatchObject({ code: 0, out: '', err: 'No unresolved calls.\n' });
  expect((await there('show', 'call_failed')).out).toMatch(/found +safe_to_retry, by Ada \(typed by OS user/);
  expect(await there('verify')).toMatchObject({ code: 0 });
});

describe.concurrent('invalid command lines', () => {
  test.each<[string[], string, string]>([
    [['clals'], 'Unknown command "clals". Did you mean calls?', 'quittance calls'],
    [
      ['calls', '--sesion', 'x'],
      'Unknown option --sesion. Did you mean --session?',
      'quittance calls --help',
    ],
    [['calls', '--session'], '--session needs a value: --session ID.', 'quittance calls --help'],
    [['calls', '--status', 'setled'], '--status is one of requested,', '--status settled'],
    [['calls', '--limit', '0'], '--limit takes a whole number from 1; found "0".', '--limit 100'],
    [['calls', '--since', 'monday'], '--since takes a time span or a date; found "monday".', '--since 7d'],
    [['calls', '--cursor', 'x'], 'A cursor must be the "next" of the previous page; found "x".', ''],
    [['calls', 'extra'], 'Unexpected argument for "quittance calls": "extra".', 'quittance calls --help'],
    [['calls', '--json=yes'], '--json takes no value; found "yes".', '--json'],
    [['--color', 'calls'], 'Unknown option --color.', 'quittance help'],
    [['show'], 'Missing call id.', 'quittance calls'],
    [['export'], '--out is missing.', 'quittance export --out ledger.jsonl'],
    [['completion', 'tcsh'], 'Supported shells: bash, zsh, fish; found "tcsh".', 'quittance completion bash'],
    [['verify', '--sign', 'x'], '--sign signs the anchor that --write-anchor writes.', '--write-anchor'],
    [['verify', '--anchor', 'x'], 'There is no anchor at x.', 'quittance verify --write-anchor x'],
    [['calls', '--ledger', 'nope.db'], 'There is no ledger at nope.db.', '--ledger path/to/ledger.db'],
    [['calls', '--ledger', '.'], '. is a folder; a ledger is a file.', '--ledger ./ledger.db'],
    [
      ['calls', '--ledger', 'memory:'],
      'A ledger in memory ends with its process',
      '--ledger path/to/ledger.db',
    ],
    [['calls', '--ledger', 'package.json'], 'is not a SQLite database', ''],
  ])('answers %j with a command to try', async (args, message, next) => {
    const { code, out, err } = await on(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
    expect(err).toContain(next);
  });

  test('a read does not create a ledger', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'quittance-cli-'));
    const { code, err } = await runCli(['calls'], { cwd: empty });
    expect(code).toBe(2);
    expect(err).toContain('There is no ledger at ./.quittance/ledger.db (the default path).');
    writeFileSync(join(empty, 'zero.db'), '');
    expect(await runCli(['calls', '--ledger', 'zero.db'], { cwd: empty })).toMatchObject({ code: 2 });
    expect(readdirSync(empty)).toEqual(['zero.db']);
    rmSync(empty, { recursive: true });
  });

  test('typed text is escaped before it reaches the terminal', async () => {
    const { err } = await on('calls', '--ledger', '\u001b]0;owned\u0007');
    expectHarmless(err.trimEnd());
  });
});

describe.concurrent('help', () => {
  test('lists every command, and exits differently when nothing was typed', async () => {
    const [asked, bare] = await Promise.all([on('--help'), on()]);
    expect(asked).toMatchObject({ code: 0, err: '' });
    expect(bare).toMatchObject({ code: 2, out: asked.out });
    for (const { name } of commands) expect(asked.out).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
  });

  test('is the same by word and by option', async ({ expect }) => {
    const [flag, word] = await Promise.all([on('verify', '--help'), on('help', 'verify')]);
    expect(flag).toMatchObject({ code: 0, err: '' });
    expect(word.out).toBe(flag.out);
  });

  test('help of a command with commands below it explains both', async ({ expect }) => {
    const [flag, word, group] = await Promise.all([
      on('mcp', '--help'),
      on('help', 'mcp'),
      on('help', 'contracts'),
    ]);
    expect(word.out).toBe(flag.out);
    expect(flag.out).toMatch(/^ {2}--observe\b/m);
    expect(flag.out).toMatch(/^ {2}mcp wrap\b/m);
    expect(group.out).toMatch(/^ {2}contracts check\b/m);
  });

  test('names accepted values before the default', () => {
    expect(optionHelp({ help: 'Format; default: text', choices: ['text', 'json'] })).toBe(
      'Format: text, json; default: text',
    );
    expect(optionHelp({ help: 'Format', choices: ['text'] })).toBe('Format: text');
  });

  test.each(commands)('explains $name with examples, in 80 columns', (command) => {
    const lines = commandHelp(command, { textWidth: 80, paint: (_, text) => text });
    const examples = lines.indexOf('Examples');
    expect(lines[examples + 1]).toMatch(/^ {2}\S/);
    for (const line of lines.slice(0, examples)) expect(line.length).toBeLessThanOrEqual(80);
  });

  test('says the version', async () => {
    expect(await runCli(['--version'])).toEqual({ code: 0, out: `quittance ${manifest.version}\n`, err: '' });
    expect(readVersion()).toBe(manifest.version);
  });

  test('prints a completion script that the shell accepts', async () => {
    const { out } = await on('completion', 'bash');
    const script = `${out}\nCOMP_WORDS=(quittance calls --outcome fa); COMP_CWORD=3; _quittance; echo "\${COMPREPLY[@]}"`;
    const shell = spawn('bash', ['-c', script]);
    expect(await text(shell.stdout)).toBe('failed\n');
    for (const shellName of ['zsh', 'fish'])
      expect((await on('completion', shellName)).out).toContain('--unresolved'.slice(2));
  });
});

describe('in a separate process', () => {
  test.each<[string[], number]>([
    [['calls', '--all', '--json'], 0],
    [['show', 'nowhere'], 1],
    [['calls', '--bogus'], 2],
  ])('prints and exits for %j as in this process', async (args, code) => {
    const there = await runCli(args, { env });
    expect(there).toEqual(await on(...args));
    expect(there.code).toBe(code);
  });
});

test('the command line page lists every command and every option', () => {
  const page = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
  for (const { name, options } of commands) {
    expect(page).toContain(`quittance ${name}`);
    for (const option of Object.keys(options)) expect(page, `${name} --${option}`).toContain(`--${option}`);
  }
});
