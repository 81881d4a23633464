/** Backup, restore and rotation of the seal key of a ledger in PostgreSQL, while processes write. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Runtime } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';
import { parseKeyRing } from '../../packages/quittance/src/ledger/seal.ts';
import { eventually } from '../eventually.ts';
import { confirming, runProgramHere } from '../run-program.ts';
import { sharePostgres } from './shared-postgres.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-pg-backup-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const keyFile = join(folder, 'seal.key');
const env = { QUITTANCE_SEAL_KEY_FILE: keyFile };
let server: string;
let schemas = 0;
const schema = (): string => `${server}?schema=backup_${process.pid}_${Date.now().toString(36)}_${++schemas}`;
const run = (...args: readonly string[]): ReturnType<typeof runProgramHere> =>
  runProgramHere(args, { cwd: folder, env, readTyped: confirming });

const input = { type: 'object' } as const;
let seen: unknown[] = [];
const tools = [
  defineTool({ name: 'pay', mode: 'external', input, run: () => 'x'.repeat(20_000) }),
  defineTool({
    name: 'delete_all',
    mode: 'destructive',
    input,
    run: ({ password }: { password?: string }) => seen.push(password),
  }),
];

let url: string;
let ledger: OpenLedger;
let runtime: Runtime;
const open = async (): Promise<void> => {
  const sealKey = new Uint8Array(readFileSync(keyFile));
  ledger = await openLedger(url, { sealKey, sealKeyFile: keyFile, spillFolder: join(folder, 'spill') });
  runtime = createRuntime({ tools, ledger });
};
const close = async (): Promise<void> => {
  await runtime.close();
  await ledger.close();
};
beforeAll(async () => {
  server = (await sharePostgres()).url;
  url = schema();
  writeFileSync(keyFile, Buffer.alloc(32, 9), { mode: 0o600 });
  await open();
});
afterAll(close);

const held = { id: 'held', name: 'delete_all', arguments: { password: 'hunter2-hunter2' } };

describe('a ledger in PostgreSQL', () => {
  test('[tamper-evident] is backed up while calls are made, and restored to a file and to another database', async () => {
    await runtime.turn({ sessionId: 's' }).submit(held).accepted;
    let made = 0;
    let going = true;
    const writing = (async () => {
      while (going) {
        const n = ++made;
        await runtime.turn({ sessionId: `s${n % 5}` }).call({ id: `c${n}`, name: 'pay', arguments: { n } });
      }
    })();
    await eventually(() => expect(made).toBeGreaterThan(20));
    const before = made;
    const backup = await run('backup', 'b', '--ledger', url, '--json');
    expect(backup.code).toBe(0);
    const manifest = JSON.parse(backup.out) as { entries: number; artifacts: number };
    await eventually(() => expect(made).toBeGreaterThan(before));
    going = false;
    await writing;
    expect(manifest.artifacts).toBeGreaterThan(0);
    expect(existsSync(join(folder, 'b/ledger.db.key'))).toBe(false);

    const anchor = join(folder, 'b/anchor.json');
    const other = schema();
    for (const target of [join(folder, 'r.db'), other]) {
      const restored = await run('restore', 'b', target, '--json');
      expect([restored.err, restored.code]).toEqual(['', 0]);
      expect(restored.out).toContain('"callId":"held"');
      expect(await run('verify', '--ledger', target, '--anchor', anchor)).toMatchObject({ code: 0 });
      expect(await run('pending', '--ledger', target, '--json')).toMatchObject({ out: '' });
    }
    // The target is in use now: it has entries of its own.
    expect((await run('restore', 'b', url)).code).not.toBe(0);
  });

  test('[secrets-stay-out] gets a new seal key, and a held call runs with its exact input', async () => {
    expect(await run('rotate-key', '--ledger', url)).toMatchObject({ code: 1 });
    expect(parseKeyRing(new Uint8Array(readFileSync(keyFile))).older).toHaveLength(1);
    await close();
    expect(await run('rotate-key', '--ledger', url, '--json')).toMatchObject({
      code: 0,
      out: expect.stringContaining('"state":"done","began":false') as string,
    });
    expect(parseKeyRing(new Uint8Array(readFileSync(keyFile))).older).toEqual([]);
    await open();
    seen = [];
    const [asked] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    if (asked === undefined) throw new Error('Nothing is held.');
    const { confirmationId, inputDigest } = asked;
    await runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'ada', inputDigest });
    await runtime.turn({ sessionId: 's' }).call(held);
    expect(seen).toEqual(['hunter2-hunter2']);
    expect(await run('doctor', '--ledger', url, '--json')).toMatchObject({
      out: expect.stringContaining('"the key of this ledger"') as string,
    });
    // A process with the old key alone is refused.
    await expect(openLedger(url, { sealKey: new Uint8Array(32).fill(8) })).rejects.toThrow(
      'another seal key',
    );
  });
});
