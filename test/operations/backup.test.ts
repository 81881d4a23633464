/** Backup and restore through the command line, while another process writes. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { alterLedger } from '../alter-ledger.ts';
import { evenPriority } from '../even-priority-arguments.ts';
import { eventually } from '../eventually.ts';
import { packageArguments } from '../frameworks/suite/package-arguments.ts';
import { startCli } from '../run-cli.ts';
import { confirming, runProgramHere } from '../run-program.ts';
import { root } from '../sources.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-backup-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const run = (...args: readonly string[]): ReturnType<typeof runProgramHere> =>
  runProgramHere(args, { cwd: folder, readTyped: confirming });

describe('a backup while 200 calls a second are written', () => {
  const ledger = at('busy.db');
  let writer: ChildProcess;
  const counts = { ended: 0, reports: 0 };
  beforeAll(async () => {
    writer = spawn(
      process.execPath,
      [...evenPriority, ...packageArguments(), join(root, 'test/operations/busy-writer.ts'), ledger],
      { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_NO_WARNINGS: '1' } },
    );
    if (writer.stdout === null) throw new Error('The writer has no output.');
    createInterface(writer.stdout).on('line', (line) => {
      Object.assign(counts, JSON.parse(line));
    });
    await eventually(() => requireThat(counts.reports > 0));
  });
  afterAll(async () => {
    writer.kill('SIGKILL');
    await once(writer, 'close').catch(() => undefined);
  });

  test('[tamper-evident] restored elsewhere, it matches the anchor of its moment, and no call runs again', async () => {
    const before = counts.ended;
    const backup = await run('backup', at('b1'), '--ledger', ledger, '--json');
    expect(backup).toMatchObject({ code: 0, err: '' });
    const manifest = JSON.parse(backup.out) as { entries: number; artifacts: number; hasSealKey: boolean };
    expect(manifest).toMatchObject({ hasSealKey: false });
    expect(manifest.entries).toBeGreaterThan(100);
    expect(manifest.artifacts).toBeGreaterThan(0);
    // The writer went on meanwhile.
    await eventually(() => expect(counts.ended).toBeGreaterThan(before));
    expect(readdirSync(at('b1')).filter((name) => /key|tokens|\.read|owners|-wal|-shm/.test(name))).toEqual(
      [],
    );

    const key = `${ledger}.key`;
    const restored = await run('restore', at('b1'), at('r1.db'), '--seal-key-file', key, '--json');
    expect(restored.code).toBe(0);
    const lines = restored.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.at(-1)).toMatchObject({ type: 'restored', entries: manifest.entries });
    const open = lines.slice(0, -1);
    expect(open.length).toBeGreaterThan(0);
    expect(new Set(open.map(({ how }) => how))).toContain('cancelled');

    const verified = await run(
      'verify',
      '--ledger',
      at('r1.db'),
      '--anchor',
      join(at('b1'), 'anchor.json'),
      '--json',
    );
    expect(verified.code).toBe(0);
    expect(JSON.parse(verified.out.trim().split('\n').at(-1) ?? '')).toMatchObject({
      ok: true,
      openCalls: 0,
    });

    // A process with the tools finds nothing to run.
    let ran = 0;
    const tools = ['pay', 'report', 'delete_order'].map((name) =>
      defineTool({ name, mode: 'destructive', input: { type: 'object' }, run: () => ++ran }),
    );
    const reopened = await openLedger(at('r1.db'));
    const runtime = createRuntime({ tools, ledger: reopened });
    expect(await runtime.recover()).toEqual([]);
    expect(await runtime.confirmations.list({ status: 'pending' })).toMatchObject({ rows: [] });
    await runtime.close();
    await reopened.close();
    expect(ran).toBe(0);
  });

  test('a kill in the middle leaves nothing that looks like a backup', async () => {
    const child = startCli(['backup', at('b2'), '--ledger', ledger]);
    const partial = await eventually(() => findPartial('b2'));
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(existsSync(at('b2'))).toBe(false);
    expect(await run('restore', at(partial), at('r2.db'), '--lost-key')).toMatchObject({
      code: 2,
      err: expect.stringContaining('not a complete backup') as string,
    });
    expect(existsSync(at('r2.db'))).toBe(false);
  });

  test('Ctrl-C leaves nothing at all', async () => {
    const child = startCli(['backup', at('b3'), '--ledger', ledger]);
    await eventually(() => findPartial('b3'));
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number];
    // The backup may have been faster than the signal.
    const left = readdirSync(folder).filter((name) => name.startsWith('b3'));
    expect([code, left]).toEqual(left.length === 0 ? [130, []] : [130, ['b3']]);
  });
});

describe('a restore', () => {
  const ledger = at('shop.db');
  let ran: string[] = [];
  const tools = [
    defineTool({
      name: 'refund',
      mode: 'destructive',
      input: { type: 'object' },
      run: ({ order }: { order?: string }) => {
        ran.push(String(order));
        return { refunded: true };
      },
    }),
  ];
  beforeAll(async () => {
    const opened = await openLedger(ledger);
    const runtime = createRuntime({ tools, ledger: opened });
    const turn = runtime.turn({ sessionId: 'shop' });
    for (const order of ['a', 'b'])
      await turn.submit({ id: order, name: 'refund', arguments: { order, password: 'hunter2hunter2' } })
        .accepted;
    await eventually(
      async () => (await runtime.confirmations.list({ status: 'pending' })).rows.length === 2 || undefined,
    );
    requireThat((await run('backup', at('shop'), '--ledger', ledger, '--with-seal-key')).code === 0);
    // After the backup a person approves one of them, and it runs.
    const [held] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    if (held === undefined) throw new Error('Nothing is held.');
    await runtime.confirmations.decide(held.confirmationId, {
      decision: 'approve',
      by: 'ada',
      inputDigest: held.inputDigest,
    });
    await eventually(() => requireThat(ran.length === 1));
    await runtime.close();
    await opened.close();
  });

  test('[no-silent-rerun] withdraws calls that were held, so that none runs twice', async () => {
    ran = [];
    expect(await run('restore', at('shop'), at('again.db'))).toMatchObject({
      code: 0,
      err: expect.stringContaining('2 calls were open in the backup') as string,
    });
    const opened = await openLedger(at('again.db'));
    const runtime = createRuntime({ tools, ledger: opened });
    await runtime.recover();
    const outcome = await runtime
      .turn({ sessionId: 'shop' })
      .call({ id: 'a', name: 'refund', arguments: { order: 'a', password: 'hunter2hunter2' } });
    expect(outcome).toMatchObject({
      type: 'ToolDenied',
      reason: 'ended',
      details: expect.stringContaining('may have run between the backup and the restore') as string,
    });
    // Such a denial does not arm the twin guard: under a new id, only what asked before asks again.
    const again = { id: 'a2', name: 'refund', arguments: { order: 'a', password: 'hunter2hunter2' } };
    await runtime.turn({ sessionId: 'shop' }).submit(again).accepted;
    const question = await eventually(async () => {
      const [row] = (await runtime.confirmations.list({ status: 'pending' })).rows;
      if (row === undefined) throw new Error('Nothing is held yet.');
      return row;
    });
    expect(question).toMatchObject({ callId: 'a2', asks: [{ by: { name: 'mode' } }] });
    expect(question.asks.map(({ code }) => code)).not.toContain('call.twin');
    await runtime.close();
    await opened.close();
    expect(ran).toEqual([]);
  });

  test('a call that was running arms the twin guard after a restore', async () => {
    const path = at('cut.db');
    const real = await openLedger(path);
    const pay = (run: () => Promise<unknown>) => [
      defineTool({ name: 'pay', mode: 'external', input: { type: 'object' }, run }),
    ];
    const begun = Promise.withResolvers<void>();
    const first = createRuntime({
      tools: pay(() => {
        begun.resolve();
        return new Promise(() => undefined);
      }),
      ledger: real,
    });
    void first.turn({ sessionId: 's' }).submit({ id: 'p', name: 'pay', arguments: { cents: 5 } });
    await begun.promise;
    requireThat((await run('backup', at('cut'), '--ledger', path, '--with-seal-key')).code === 0);
    expect(await run('restore', at('cut'), at('cut-again.db'))).toMatchObject({
      code: 0,
      out: expect.stringContaining('indeterminate') as string,
    });
    const opened = await openLedger(at('cut-again.db'));
    const second = createRuntime({ tools: pay(() => Promise.resolve('paid')), ledger: opened });
    await second.turn({ sessionId: 's' }).submit({ id: 'p2', name: 'pay', arguments: { cents: 5 } }).accepted;
    const [held] = await eventually(async () => {
      const { rows } = await second.confirmations.list({ status: 'pending' });
      requireThat(rows.length === 1);
      return rows;
    });
    expect(held?.asks).toMatchObject([{ code: 'call.twin' }]);
    await second.close();
    await opened.close();
    await real.close();
  });

  test('overwrites nothing, and needs the key unless it is given up', async () => {
    const before = readFileSync(ledger);
    expect(await run('restore', at('shop'), ledger)).toMatchObject({
      code: 2,
      err: expect.stringContaining('already exists') as string,
    });
    expect(readFileSync(ledger)).toEqual(before);
    expect(await run('backup', at('shop'), '--ledger', ledger)).toMatchObject({
      code: 2,
      err: expect.stringContaining('already exists') as string,
    });
    await run('backup', at('keyless'), '--ledger', ledger);
    expect(await run('restore', at('keyless'), at('k.db'))).toMatchObject({
      code: 2,
      err: expect.stringContaining('--seal-key-file') as string,
    });
    writeFileSync(at('other.key'), 'ab'.repeat(32), { mode: 0o600 });
    expect(await run('restore', at('keyless'), at('k.db'), '--seal-key-file', at('other.key'))).toMatchObject(
      {
        code: 2,
        err: expect.stringMatching(/does not open \d sealed inputs? of the backup/) as string,
      },
    );
    expect(readdirSync(folder).filter((name) => name.startsWith('k.db'))).toEqual([]);
    const right = ['--seal-key-file', `${ledger}.key`];
    expect(await run('restore', at('keyless'), at('right.db'), ...right)).toMatchObject({ code: 0 });
    // People who were signed in to another ledger are not signed in to this one.
    writeFileSync(at('k.db.sign-ins'), '{"version":1}');
    expect(await run('restore', at('keyless'), at('k.db'), '--lost-key')).toMatchObject({
      code: 2,
      err: expect.stringContaining('k.db.sign-ins already exists') as string,
    });
    rmSync(at('k.db.sign-ins'));
    expect(await run('restore', at('keyless'), at('k.db'), '--lost-key')).toMatchObject({ code: 0 });
  });

  test('[tamper-evident] refuses a backup that was changed anywhere', async () => {
    const refused = async (change: () => void, name: string): Promise<void> => {
      rmSync(at('t'), { recursive: true, force: true });
      await run('backup', at('t'), '--ledger', ledger, '--with-seal-key');
      change();
      const result = await run('restore', at('t'), at(name));
      expect([result.code === 0, existsSync(at(name))]).toEqual([false, false]);
    };
    await refused(
      () => flip(join(at('t'), 'ledger.db'), statSync(join(at('t'), 'ledger.db')).size - 100),
      't1.db',
    );
    await refused(() => truncateSync(join(at('t'), 'ledger.db'), 8_192), 't2.db');
    await refused(() => rmSync(join(at('t'), 'ledger.db.key')), 't3.db');
    await refused(() => flip(join(at('t'), 'anchor.json'), 40), 't4.db');
    await refused(() => {
      const path = join(at('t'), 'manifest.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace('"hasSealKey": true', '"hasSealKey": false'));
    }, 't5.db');
  });
});

test('[nothing-lost] a result that is only in the spill file is in the backup, and ends its call after a restore', async () => {
  const path = at('spilled.db');
  const real = await openLedger(path);
  const ledger = alterLedger(real, {
    append: (entry) => {
      if (entry.events.some(({ type }) => type === 'tool.responded')) throw new Error('The disk is full.');
      return real.append(entry);
    },
  });
  const tools = [
    defineTool({ name: 'pay', mode: 'external', input: { type: 'object' }, run: () => ({ paid: 7 }) }),
  ];
  const runtime = createRuntime({ tools, ledger });
  await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'pay', arguments: {} });
  const backup = await run('backup', at('spilled'), '--ledger', path, '--with-seal-key', '--json');
  expect(JSON.parse(backup.out)).toMatchObject({ spills: 1 });
  expect(await run('restore', at('spilled'), at('unspilled.db'))).toMatchObject({ code: 0 });
  const shown = await run('calls', '--json', '--ledger', at('unspilled.db'));
  expect(shown.out).toContain('"outcome":"ToolExecutionResult"');
  await real.close();
});

/** For set-up code, which is not a test. */
function requireThat(isSo: boolean): void {
  if (!isSo) throw new Error('Not yet, or not as expected.');
}

function findPartial(name: string): string {
  const found = readdirSync(folder).find((each) => each.startsWith(`${name}.partial-`));
  if (found === undefined) throw new Error('The backup has not begun yet.');
  return found;
}

function flip(path: string, offset: number): void {
  const bytes = readFileSync(path);
  bytes[offset] = (bytes[offset] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}
