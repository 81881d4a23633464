/** Decisions of people on the command line, while other processes hold the calls. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../test/eventually.ts';
import { makeFileToken } from '../../../test/make-token.ts';
import type { Ran } from '../../../test/run-cli.ts';
import { runCli } from '../../../test/run-cli.ts';
import type { Sitting } from '../../../test/run-in-process.ts';
import { runInProcess } from '../../../test/run-in-process.ts';
import { root } from '../../../test/sources.ts';
import { packageArguments } from '../../../test/frameworks/suite/package-arguments.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-people-'));
afterAll(() => rmSync(folder, { recursive: true }));

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

type Json = Readonly<Record<string, unknown>>;
const jsonLines = (output: string): Json[] =>
  output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Json);

/** A process that runs one of our scripts, with its output line by line. */
function start(script: string, ...args: string[]) {
  const child = spawn(process.execPath, [...packageArguments(), join(root, 'test', script), ...args], {
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  const closed = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    next: async (): Promise<Json> => JSON.parse(String((await lines.next()).value)) as Json,
    async die(): Promise<void> {
      child.kill('SIGKILL');
      await closed;
    },
    ended: async (): Promise<void> => void (await closed),
  };
}

let count = 0;
/** A fresh ledger, a process that holds these calls, and the command line on that ledger with a token of Ada. */
async function hold(...callIds: string[]) {
  const path = join(folder, `${++count}.db`);
  const holder = start('hold-calls.ts', path, ...callIds);
  const token = makeFileToken(path, 'approver', 'Ada');
  const on = (...args: string[]): Promise<Ran> => runInProcess(args, { ledger: path, token });
  const pending = async (): Promise<Json[]> => jsonLines((await on('pending', '--json')).out);
  await eventually(async () => expect(await pending()).toHaveLength(callIds.length));
  const digestOf = async (callId: string): Promise<string> =>
    String((await pending()).find((each) => each['callId'] === callId)?.['inputDigest']);
  return { path, on, pending, digestOf, holder, token };
}

/** Characters that must never reach a terminal. */
const dangerous = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u;

describe('quittance pending', () => {
  test('lists calls awaiting approval, riskiest first, within the width', async () => {
    const { path, on } = await hold('call_write', 'call_nasty', 'call_refund', 'call_delete');
    for (const columns of [80, 120]) {
      const { out, code } = await runInProcess(['pending'], { ledger: path, columns });
      const lines = out.trimEnd().split('\n');
      expect({ code, count: lines.length }).toEqual({ code: 0, count: 5 });
      for (const line of lines) {
        expect(line.length).toBeLessThanOrEqual(columns);
        expect(line).not.toMatch(dangerous);
      }
      expect(lines.map((line) => /delete_order|refund|write_file/.exec(line)?.[0])).toEqual([
        undefined,
        'delete_order',
        'delete_order',
        'refund',
        'write_file',
      ]);
    }
    const some = jsonLines((await on('pending', '--tool', 'refund', '--json')).out);
    expect(some).toMatchObject([
      {
        callId: 'call_refund',
        effectiveInput: { password: '[REDACTED]' },
        hidden: ['$.password'],
        risk: ['reaches outside', 'involves money', 'cannot be repeated safely'],
      },
    ]);
    expect((await on('pending', '--session', 'nobody')).err).toBe('No calls await approval.\n');
  });
});

describe('a decision from another process', () => {
  test('covers the reviewed arguments, counts once, and lets the holder continue', async () => {
    const { path, on, pending, digestOf, holder, token } = await hold('call_delete');
    const [question] = await pending();
    const digest = await digestOf('call_delete');
    const blind = await on('approve', 'call_delete', '--by', 'Ada');
    expect(blind).toMatchObject({ code: 2, out: '' });
    expect(blind.err).toContain('--digest is missing');
    expect(blind.err).not.toContain(digest.slice(7, 19));
    for (const other of [digest.slice(7, 18), 'zz'.repeat(8), ''])
      expect((await on('approve', 'call_delete', '--by', 'Ada', '--digest', other)).code).toBe(2);
    for (const other of ['0'.repeat(12), `hmac-${digest}`, `${digest}0`])
      expect((await on('approve', 'call_delete', '--by', 'Ada', '--digest', other)).code).toBe(1);
    const nameless = await runInProcess(['approve', 'call_delete', '--digest', digest], { ledger: path });
    expect(nameless.err).toContain('--by is missing');
    expect(await pending()).toHaveLength(1);

    const short = String(question?.['confirmationId']).slice(0, 12);
    const yes = ['approve', short, '--by', 'Ada', '--digest', digest.slice(7, 19), '--wait', '20'];
    const first = await runCli([...yes, '--ledger', path], { env: { QUITTANCE_TOKEN: token } });
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(first.out).toMatch(/Approved by Ada \(token [^)]+\): delete_order, call call_delete/);
    expect(first.out).toContain('The process that holds the call continues it.');
    expect(first.out).toContain('The call ended: succeeded. The model receives:\n  {"deleted":true}');
    expect(await holder.next()).toMatchObject({ outcome: { output: { deleted: true } } });
    const eve = { ledger: path, answer: () => true };
    const second = await runInProcess(['deny', 'call_delete', '--by', 'Eve'], eve);
    expect(second).toMatchObject({ code: 1, out: '' });
    expect(second.err).toMatch(/was approved already by Ada \(token [^)]+\) at \d{4}-/);
  });

  test('can deny, or answer the model', async () => {
    const { on, holder } = await hold('call_delete', 'call_refund');
    expect(await on('deny', 'call_delete', '--by', 'Ada', '--reason', 'Not today.')).toMatchObject({
      code: 0,
    });
    expect(await holder.next()).toMatchObject({
      id: 'call_delete',
      outcome: { details: 'Denied by Ada: Not today.' },
    });
    expect((await on('respond', 'call_refund', '--by', 'Ada')).err).toContain('--text is missing');
    const said = await on(
      'respond',
      'call_refund',
      '--by',
      'Ada',
      '--text',
      'Refunded by phone.',
      '--wait',
      '20',
    );
    expect(said.out).toContain('Answered by Ada');
    expect(said.out).toContain('Refunded by phone.');
    expect(await holder.next()).toMatchObject({ outcome: { code: 'confirmation.answered' } });
  });

  test('can edit the arguments and shows the difference without redacted values', async () => {
    const { on, digestOf, holder } = await hold('call_refund');
    const digest = await digestOf('call_refund');
    const edit = (args: string): Promise<Ran> =>
      on('edit', 'call_refund', '--by', 'Ada', '--digest', digest, '--wait', '20', '--args', args);
    expect((await edit('{"order":"A7","cents":500,"password":"[REDACTED]"}')).err).toContain(
      'These arguments equal the current ones.',
    );
    expect((await edit('[1]')).err).toContain('--args must be a JSON object.');
    expect((await edit('{"password":"hunter2"')).err).not.toContain('hunter2');
    const file = join(folder, 'edit.json');
    writeFileSync(file, '{"order":"A7","cents":300,"password":"[REDACTED]"}');
    const done = await edit(`@${file}`);
    expect(done.out).toMatch(/\$\.cents\n +- 500\n +\+ 300\n/);
    expect(done.out).not.toContain('password');
    expect(await holder.next()).toMatchObject({ outcome: { output: { refunded: 300, knew: true } } });
    const { out } = await on('show', 'call_refund');
    expect(out).toContain('approved with edited arguments by Ada');
    expect(out).toMatch(/\$\.cents\n +- 500\n +\+ 300\n/);
    expect(out).not.toContain('correct horse');
  });

  test('names the reviewed revision of the preview', async () => {
    const { on, digestOf, holder } = await hold('call_write');
    const yes = ['approve', 'call_write', '--by', 'Ada', '--digest', await digestOf('call_write')];
    expect((await on('show', 'call_write')).out).toMatch(
      /revision 1\n.*notes\.md\n(?:.*\n){3} +-old\n +\+new\n/,
    );
    expect((await on(...yes)).err).toContain('--revision is missing');
    expect(await on(...yes, '--revision', '2')).toMatchObject({ code: 1 });
    expect(await on(...yes, '--revision', '1')).toMatchObject({ code: 0 });
    expect(await holder.next()).toMatchObject({ outcome: { output: { wrote: { sha: 'abc' } } } });
  });

  test('outlives the holder: a denial ends the call, an approval waits for a process with the tool', async () => {
    const { path, on, digestOf, holder } = await hold('call_delete', 'call_refund');
    await holder.die();
    expect(await on('reconcile')).toMatchObject({ code: 0, err: 'No unresolved calls.\n' });
    expect((await on('deny', 'cnf_none', '--by', 'Ada')).err).toMatch(
      /There is no question and no call "cnf_none"\.\n {2}try: quittance pending\n/,
    );
    const no = await on('deny', 'call_refund', '--by', 'Ada');
    expect(no.out).toContain('The process that held the call has ended, so this command settles the call.');
    expect(jsonLines((await on('calls', '--json', '--tool', 'refund')).out)).toMatchObject([
      { status: 'settled', code: 'confirmation.rejected' },
    ]);
    const digest = await digestOf('call_delete');
    const yes = await on('approve', 'call_delete', '--by', 'Ada', '--digest', digest, '--wait', '1');
    expect(yes.code).toBe(1);
    expect(yes.out).toContain('Another process with the tool continues it');
    expect(yes.err).toContain('No outcome after 1 s; the decision is recorded.');
    expect((await on('reconcile')).err).toContain('1 more call has no outcome');
    const again = start('hold-calls.ts', path, 'call_delete');
    expect(await again.next()).toMatchObject({ outcome: { output: { deleted: true } } });
    await again.ended();
    expect(await on('verify')).toMatchObject({ code: 0, err: '' });
  });
});

describe('a person at a terminal', () => {
  const at = (ledger: string, says: boolean): Sitting & { readonly seen: string[] } => {
    const seen: string[] = [];
    return {
      ledger,
      columns: 80,
      seen,
      answer(shown, question) {
        seen.push(shown, question);
        return says;
      },
    };
  };

  test('sees everything that would run, and approves by typing the beginning of the digest', async () => {
    const { path, pending, holder } = await hold('call_nasty', 'call_long');
    const no = at(path, false);
    const left = await runInProcess(['approve', 'call_long', '--by', 'Ada'], no);
    expect(left).toMatchObject({ code: 1 });
    expect(left.out).toMatch(/No decision was recorded\.\n$/);
    const [shown = '', question] = no.seen;
    expect(question).toMatch(/^Approve\? Type [0-9a-f]{4} to confirm: $/);
    // Even the last of a thousand lines is visible.
    expect(shown).toContain('the last line');
    expect(shown).not.toContain('… cut');
    expect(shown).toMatch(/destructive[^]*for +bob[^]*asked by +gate mode[^]*digest\s+sha256:[0-9a-f]{64}/);
    expect(await pending()).toHaveLength(2);
    const yes = at(path, true);
    const done = await runInProcess(['approve', 'call_nasty', '--by', 'Ada', '--wait', '20'], yes);
    expect(done).toMatchObject({ code: 0, err: '' });
    for (const line of done.out.split('\n')) {
      expect(line).not.toMatch(dangerous);
      expect(line.length).toBeLessThanOrEqual(120);
    }
    expect(await holder.next()).toMatchObject({ id: 'call_nasty', outcome: { output: { deleted: true } } });
  });

  test('sees the edit, and the diff of the preview', async () => {
    const { path } = await hold('call_refund', 'call_write');
    const no = at(path, false);
    const args = '{"order":"A7","cents":300,"password":"hunter2"}';
    await runInProcess(['edit', 'call_refund', '--by', 'Ada', '--args', args], no);
    expect(no.seen[0]).toMatch(/\$\.cents\n +- 500\n +\+ 300\n +\$\.password\n +- "\[REDACTED\]"\n/);
    expect(no.seen[0]).not.toContain('hunter2');
    await runInProcess(['approve', 'call_write', '--by', 'Ada'], no);
    expect(no.seen[2]).toMatch(/Preview, revision 1\n.*notes\.md\n(?:.*\n){3} +-old\n +\+new\n/);
  });

  test('a person at a terminal as a program: JSON requires the digest', async () => {
    const { path, digestOf } = await hold('call_delete');
    const yes = at(path, true);
    expect(await runInProcess(['approve', 'call_delete', '--by', 'Ada', '--json'], yes)).toMatchObject({
      code: 2,
    });
    expect(yes.seen).toEqual([]);
    const digest = await digestOf('call_delete');
    const { out } = await runInProcess(
      ['approve', 'call_delete', '--by', 'Ada', '--json', '--digest', digest, '--wait', '20'],
      yes,
    );
    expect(jsonLines(out)).toMatchObject([
      { status: 'approved', by: { name: 'Ada' }, holderAlive: true },
      { status: 'settled', content: '{"deleted":true}' },
    ]);
  });
});

describe('quittance grants', () => {
  test('gives, lists and revokes, and calls record the grant', async () => {
    const path = join(folder, 'grants.db');
    const on = (...args: string[]): Promise<Ran> => runInProcess(args, { ledger: path, answer: () => true });
    await start('worker-runtime.ts', 'make', path).next();
    expect((await on('grants')).err).toBe('No grant is active.\n');
    const give = ['grants', 'give', 'delete_*', '--session', 'ticket-42', '--by', 'Ada'];
    const bad = await on(...give, '--where', '{"order":{"equals":"A7"}}');
    expect(bad).toMatchObject({ code: 2, out: '' });
    expect(bad.err).toContain('Known prefixes: args');
    expect(await on(...give, '--for', '1h', '--until', '2099-01-01')).toMatchObject({ code: 2 });
    expect(await on(...give, '--until', '2020-01-01')).toMatchObject({ code: 2 });
    const where = '{"args.order":{"equals":"A7"}}';
    expect((await on(...give, '--where', where, '--for', '1h', '--uses', '5')).out).toContain(
      'Granted by Ada (typed by OS user ada): 5 calls of delete_* in session ticket-42',
    );
    expect(await start('hold-calls.ts', path, 'call_delete').next()).toMatchObject({
      outcome: { output: { deleted: true } },
    });
    const [grant] = jsonLines((await on('grants', '--json')).out);
    const grantId = String(grant?.['grantId']);
    expect(grant).toMatchObject({ used: 1, uses: 5, status: 'active' });
    expect((await on('show', 'call_delete')).out).toContain(`grant        ${grantId}`);
    const revoke = ['grants', 'revoke', grantId.slice(0, 12), '--by', 'Ada'];
    expect(await on(...revoke)).toMatchObject({ code: 0, err: '' });
    expect((await on(...revoke)).err).toContain('was already revoked by Ada');
    expect((await on('grants')).out).toBe('');
    expect((await on('grants', '--all')).out).toContain('revoked');
  });
});

describe('quittance handoff', () => {
  test('lists, claims and reports; shows the token and redacted values only on request', async () => {
    const path = join(folder, 'handoff.db');
    const on = (...args: string[]): Promise<Ran> =>
      runInProcess(args, { ledger: path, token: makeFileToken(path, 'operator') });
    const runtime = ['--runtime', join(root, 'test/worker-runtime.ts')];
    const boss = start('worker-runtime.ts', 'hand-over', path);
    await eventually(async () => expect((await on('handoff')).out).toContain('waiting'));
    const claim = ['handoff', 'claim', 'call_render', '--worker', 'farm-1'];
    const unproven = await runInProcess([...claim, '--json', ...runtime], { ledger: path });
    expect(unproven).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('There is no terminal and no token') as string,
    });
    expect((await on(...claim)).err).toContain('only on request');
    expect((await on(...claim, '--json')).err).toContain('--runtime is missing');
    expect((await on(...claim, '--json', '--runtime', join(root, 'test/sources.ts'))).code).toBe(2);
    expect((await on('handoff')).out).toContain('waiting');
    const [claimed] = jsonLines((await on(...claim, '--json', ...runtime)).out);
    expect(claimed).toMatchObject({ arguments: { scene: 'dawn', password: 'correct horse' }, attempt: 1 });
    expect(await on(...claim, '--json', ...runtime)).toMatchObject({ code: 1, out: '' });
    expect((await on('handoff')).out).toMatch(/taken +farm-1/);
    const token = join(folder, 'token');
    writeFileSync(token, `${String(claimed?.['token'])}\n`);
    const report = ['handoff', 'report', '--token', `@${token}`, ...runtime];
    expect((await on(...report)).err).toContain('use --output or --error.');
    expect(await on(...report, '--output', '{"frames":9}')).toMatchObject({ code: 0, err: '' });
    expect(await boss.next()).toMatchObject({ output: { frames: 9 } });
    expect(await on(...report, '--output', '{"frames":9}')).toMatchObject({ code: 0 });
    const otherwise = await on(...report, '--error', 'It broke.', '--json');
    expect(otherwise.code).toBe(1);
    expect(jsonLines(otherwise.out)).toMatchObject([{ status: 'replayed', differs: true }]);
    const { out } = await on('show', 'call_render');
    expect(out).toContain('claimed by   farm-1');
    expect(out).not.toContain('correct horse');
    expect(await on('handoff', 'report', '--token', 'v1.x', '--output', '1', ...runtime)).toMatchObject({
      code: 1,
    });
  });
});
