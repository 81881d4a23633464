import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRuntime, type Runtime } from 'quittance';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { openLedger } from 'quittance/internal/store/open-ledger';
import { defineTool } from 'quittance/internal/tool/define-tool';
import { runProgram } from './program.ts';
import { runTui } from './commands/tui.ts';

/** A terminal of 80 columns and 24 rows. It remembers everything that was written. */
class Screen extends Writable {
  readonly isTTY = true;
  readonly columns = 80;
  readonly rows = 24;
  written = '';
  override _write(chunk: Buffer, _: unknown, done: () => void): void {
    this.written += String(chunk);
    done();
  }
  /** Lines of the last frame. */
  get lines(): readonly string[] {
    const frame = this.written.slice(this.written.lastIndexOf('\u001b[H'));
    return stripVTControlCharacters(frame).split('\r\n');
  }
  get text(): string {
    return this.lines.join('\n');
  }
}

class Keyboard extends PassThrough {
  readonly modes: boolean[] = [];
  setRawMode(mode: boolean): this {
    this.modes.push(mode);
    return this;
  }
}

let folder = '';
let ledger: OpenLedger;
let runtime: Runtime;
const deleted: unknown[] = [];
const deleteFiles = defineTool({
  name: 'delete_files',
  run: (args) => {
    deleted.push(args);
    return { deleted: true };
  },
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-tui-'));
  ledger = await openLedger(join(folder, 'ledger.db'));
  runtime = createRuntime({ tools: [deleteFiles], ledger });
  deleted.length = 0;
});
afterEach(async () => {
  await runtime.close();
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

async function hold(
  id: string,
  args: object,
): Promise<{ readonly outcome: Promise<{ readonly type: string }> }> {
  const outcome = runtime
    .turn({ sessionId: 's1' })
    .call({ id, name: 'delete_files', arguments: args as never });
  outcome.catch(() => undefined);
  await expect
    .poll(async () => (await runtime.confirmations.list({ status: 'pending' })).rows.length)
    .toBeGreaterThan(0);
  return { outcome };
}

function open(options: { readonly by?: string; readonly env?: Readonly<Record<string, string>> } = {}) {
  const [screen, keyboard, errors] = [new Screen(), new Keyboard(), new Screen()];
  const stop = new AbortController();
  const code = runProgram({
    args: [
      'tui',
      '--ledger',
      join(folder, 'ledger.db'),
      ...(options.by === undefined ? [] : ['--by', options.by]),
    ],
    env: options.env ?? {},
    stdout: screen,
    stderr: errors,
    signal: stop.signal,
    keyboard: { input: keyboard, output: screen },
    readTyped: () => Promise.resolve(undefined),
  });
  return {
    screen,
    keyboard,
    errors,
    stop,
    code,
    shows: async (text: string | RegExp) => {
      await expect.poll(() => screen.text).toMatch(text);
    },
    /** Each key arrives as a chunk of its own. */
    press: async (...keys: readonly string[]) => {
      for (const key of keys) {
        keyboard.write(key);
        await new Promise(setImmediate);
      }
    },
  };
}

const isRestored = ({ screen, keyboard }: ReturnType<typeof open>): boolean =>
  screen.written.endsWith('\u001b[?25h\u001b[?1049l') && keyboard.modes.join() === 'true,false';

test('the inbox shows the risk in the words of the console, and the reason before ids', async () => {
  await hold('c1', { paths: ['a'] });
  const { shows, screen, press, code } = open({ by: 'Ada' });
  await shows('Inbox 1');
  const heading = screen.lines.find((line) => line.includes('TOOL')) ?? '';
  expect(heading.trim().split(/ +/)).toEqual(['AGE', 'RISK', 'TOOL', 'WHY', 'EXPIRES']);
  const row = screen.lines.find((line) => line.startsWith('> ')) ?? '';
  expect(row).toMatch(/ high +delete_files +"delete_files" is a destructive tool\. /);
  await press('q');
  expect(await code).toBe(0);
});

test('draws nothing after the terminal was restored, even if the ledger answers late', async () => {
  const [screen, keyboard] = [new Screen(), new Keyboard()];
  const answer = Promise.withResolvers<void>();
  const query: OpenLedger['query'] = (name, asked) =>
    name === 'calls' ? answer.promise.then(() => ledger.query(name, asked)) : ledger.query(name, asked);
  const ended = runTui({
    ledger: Object.create(ledger, { query: { value: query } }),
    input: keyboard,
    output: screen,
    env: {},
    signal: new AbortController().signal,
    decider: undefined,
  });
  keyboard.write('\u0003');
  await expect.poll(() => keyboard.listenerCount('data')).toBe(1);
  await new Promise(setImmediate);
  screen.emit('resize');
  answer.resolve();
  await ended;
  await new Promise(setImmediate);
  expect(screen.written).toBe('\u001b[?1049h\u001b[?25l\u001b[?25h\u001b[?1049l');
});

describe('quittance tui', () => {
  test('[bound-approval] approves exactly what was shown, after it was read to the end, and names the person', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`file${index}`, `/srv/${index}`]),
    );
    const { outcome } = await hold('c1', many);
    const tui = open({ by: 'Ada' });
    await tui.shows(/Inbox 1.*as Ada[^]*> .*delete_files/);
    await tui.press('\r');
    await tui.shows(/delete_files {2}destructive/);
    await tui.press('a');
    await tui.shows('Read to the end first');
    await tui.press(' ', ' ', ' ');
    await tui.shows(/digest[^]*sha256:/);
    await tui.press('a');
    await tui.shows('Approve exactly this call?');
    expect(deleted).toEqual([]);
    await tui.press('y');
    expect((await outcome).type).toBe('ToolExecutionResult');
    await tui.shows('Approved: delete_files, call c1.');
    expect(deleted).toEqual([many]);
    const [, completed] = await runtime.calls.audit({ sessionId: 's1', callId: 'c1' });
    expect(completed?.decidedBy).toMatchObject({
      type: 'person',
      name: 'Ada',
      identity: { kind: 'os_user' },
    });
    await tui.press('\t');
    await tui.shows(/c1 .*succeeded/);
    await tui.press('q');
    expect(await tui.code).toBe(0);
    expect(isRestored(tui)).toBe(true);
  });

  test('a question that was answered elsewhere closes, and a late y approves nothing', async () => {
    const { outcome } = await hold('c1', { path: 'a' });
    const tui = open({ by: 'Ada' });
    await tui.shows('> ');
    await tui.press('\r', ' ', 'a');
    await tui.shows('Approve exactly');
    const [question] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    await runtime.confirmations.decide(question?.confirmationId ?? '', { decision: 'deny', by: 'Bob' });
    await tui.press('y');
    await tui.shows(/Bob|was answered/);
    expect((await outcome).type).toBe('ToolDenied');
    expect(deleted).toEqual([]);
    await tui.press('\u0003');
    expect(await tui.code).toBe(0);
  });

  test('denies with an optional reason, and Esc leaves the question open', async () => {
    const { outcome } = await hold('c1', { path: 'a' });
    const tui = open({ by: 'Ada' });
    await tui.shows('> ');
    await tui.press('\r', 'd', 'x', '\u001b');
    await tui.shows('Not denied.');
    await tui.press('d', 'Keep ', 'thx', '\u007f', '\u007f', 'em.', '\r');
    expect(await outcome).toMatchObject({ type: 'ToolDenied', details: 'Denied by Ada: Keep tem.' });
    await tui.press('\u0003');
    await tui.code;
  });

  test('pasted text never acts as keys, and only --by may decide', async () => {
    await hold('c1', { path: 'a' });
    const tui = open({ by: 'Ada' });
    await tui.shows('> ');
    await tui.press('\ray');
    await tui.press('\r');
    await tui.shows('digest');
    await tui.press('ay', 'd\r', 'yyy');
    await tui.shows('Pasted text was ignored.');
    await tui.press(' ', 'a', 'yes');
    await tui.shows('Not approved.');
    await tui.press('\u0003');
    await tui.code;
    const looking = open();
    await looking.shows(/read only[^]*> /);
    await looking.press('\r', ' ', 'a');
    await looking.shows('quittance tui --by NAME');
    looking.stop.abort();
    await looking.code;
    expect(isRestored(looking)).toBe(true);
    expect((await runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(1);
  });

  test('fits 80 columns and 24 rows, and no text of a tool or model controls the terminal', async () => {
    const hostile = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202eevil\r\n';
    await hold('c1', { [`key${hostile}`]: hostile, long: 'x'.repeat(500), wide: '漢'.repeat(100) });
    const tui = open({ by: `Eve${hostile}`, env: { NO_COLOR: '1' } });
    await tui.shows('> ');
    await tui.press('\r');
    for (let page = 0; page < 4; page++) await tui.press(' ');
    await tui.shows('digest');
    await tui.press('\u001b', '\t');
    await tui.shows('c1');
    await tui.press('q');
    await tui.code;
    const { written } = tui.screen;
    // Only these sequences are ours. NO_COLOR leaves out all styles.
    const ours = ['H', 'K', 'J', '?1049h', '?1049l', '?25h', '?25l']
      .map((end) => `\u001b[${end}`)
      .concat('\r\n');
    const rest = ours.reduce((text, sequence) => text.replaceAll(sequence, ''), written);
    expect(rest).not.toMatch(/\p{Cc}|\u202e/u);
    for (const frame of written.split('\u001b[H').slice(1)) {
      const lines = stripVTControlCharacters(frame).split('\r\n');
      expect(lines.length).toBeLessThanOrEqual(24);
      for (const line of lines) expect(line.replaceAll('漢', 'xx').length).toBeLessThanOrEqual(80);
    }
  });

  test('quittance tui without a terminal it says so and what to use instead', async () => {
    const [stdout, stderr] = [new PassThrough(), new Screen()];
    const signal = new AbortController().signal;
    expect(await runProgram({ args: ['tui'], env: {}, stdout, stderr, signal })).toBe(2);
    expect(stripVTControlCharacters(stderr.written)).toMatch(/needs a terminal[^]*try: quittance pending/);
  });
});
