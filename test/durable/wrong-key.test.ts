/** A process with the wrong seal key, or without one, ends no held call: it is refused when it opens the ledger. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import type { Runtime } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { sharePostgres } from '../postgres/shared-postgres.ts';
import { confirming, runProgramHere } from '../run-program.ts';
import { makeOlder } from '../older-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-wrong-key-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const place = (): string => join(folder, `${randomUUID()}.db`);
const keyOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const ran: unknown[] = [];
const tools = [
  defineTool({
    name: 'transfer',
    mode: 'destructive',
    input: { type: 'object' },
    run: (input) => ({ nth: ran.push(input) }),
  }),
];

type KeyOptions = Parameters<typeof openLedger>[1];

async function withRuntime<Result>(
  url: string,
  options: KeyOptions,
  work: (runtime: Runtime) => Promise<Result>,
): Promise<Result> {
  const ledger = await openLedger(url, options);
  const runtime = createRuntime({ tools, ledger }) as unknown as Runtime;
  try {
    return await work(runtime);
  } finally {
    await runtime.close();
    await ledger.close();
  }
}

const hold = (
  url: string,
  options: KeyOptions,
  args: Readonly<Record<string, unknown>> = { password: 'hunter2' },
): Promise<void> =>
  withRuntime(url, options, async (runtime) => {
    await runtime.turn({ sessionId: 's' }).submit({ id: 'c', name: 'transfer', arguments: args }).accepted;
    await eventually(async () => {
      expect((await runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(1);
    });
  });

const statusOf = (url: string, options: KeyOptions): Promise<string | undefined> =>
  withRuntime(url, options, async (runtime) => {
    await runtime.recover();
    return (await runtime.calls.list({ sessionId: 's' }))[0]?.status;
  });

const refusal = async (url: string, options: KeyOptions): Promise<string> => {
  try {
    return String(await statusOf(url, options));
  } catch (error) {
    return isQuittanceError(error) ? `${error.code}: ${error.message}` : String(error);
  }
};

async function stores(): Promise<readonly (readonly [name: string, url: string])[]> {
  const { url } = await sharePostgres();
  const schema = `wrong_key_${randomUUID().slice(0, 8)}`;
  return [
    ['SQLite', place()],
    ['PostgreSQL', `${url}${url.includes('?') ? '&' : '?'}schema=${schema}`],
  ];
}

describe('[nothing-lost] another seal key than that of the ledger', () => {
  test.each([
    ['a hidden input', { password: 'hunter2' }],
    ['a plain input', { amount: 1 }],
  ])('is refused at open on both stores, and a call with %s stays held', async (_, args) => {
    for (const [name, url] of await stores()) {
      await hold(url, { sealKey: keyOf(7) }, args);
      expect
        .soft(await refusal(url, { sealKey: keyOf(8) }), name)
        .toMatch(/^config\.invalid: .*QUITTANCE_SEAL_KEY_FILE/s);
      expect.soft(await refusal(url, { sealKey: keyOf(7) }), name).toBe('held');
    }
  });

  test('is refused from a key file, from a file that is named, and by a runtime that opens its ledger itself', async () => {
    const path = place();
    await hold(path, {});
    const right = readFileSync(`${path}.key`);
    writeFileSync(`${path}.key`, keyOf(8));
    expect(await refusal(path, {})).toContain('not the seal key of the ledger');
    const other = join(folder, 'other.key');
    writeFileSync(other, Buffer.from(keyOf(9)).toString('hex'), { mode: 0o600 });
    expect(await refusal(path, { sealKeyFile: other })).toContain('not the seal key of the ledger');
    const runtime = createRuntime({ tools, ledger: `sqlite:${path}` });
    await expect(runtime.recover()).rejects.toThrow('not the seal key of the ledger');
    await runtime.close();
    rmSync(`${path}.key`);
    expect(await refusal(path, {})).toContain('a new key would not open');
    writeFileSync(`${path}.key`, right, { mode: 0o600 });
    expect(await refusal(path, {})).toBe('held');
  });

  test('is refused where a process with the key still has the ledger open', async () => {
    const path = place();
    await withRuntime(path, { sealKey: keyOf(7) }, async () => {
      expect(await refusal(path, { sealKey: keyOf(8) })).toContain('not the seal key of the ledger');
    });
  });

  test('is refused for a ledger that an earlier version wrote, if its sealed inputs tell', async () => {
    const path = place();
    await hold(path, { sealKey: keyOf(7) });
    makeOlder(path, 4);
    expect(await refusal(path, { sealKey: keyOf(8) })).toContain('not the seal key of the ledger');
    expect(await refusal(path, { sealKey: keyOf(7) })).toBe('held');
  });

  test.each(['SQLite', 'PostgreSQL'])('includes the old key after a rotation on %s', async (store) => {
    const [, url = ''] = (await stores()).find(([name]) => name === store) ?? [];
    const file = join(folder, `${randomUUID()}.key`);
    writeFileSync(file, keyOf(7), { mode: 0o600 });
    await hold(url, { sealKeyFile: file });
    const env = { QUITTANCE_SEAL_KEY_FILE: file };
    const rotated = await runProgramHere(['rotate-key', '--ledger', url, '--json'], {
      cwd: folder,
      env,
      readTyped: confirming,
    });
    expect(rotated).toMatchObject({ out: expect.stringContaining('"state":"done"') as string });
    expect(await refusal(url, { sealKey: keyOf(7) })).toContain('config.invalid');
    expect(await refusal(url, { sealKeyFile: file })).toBe('held');
  });

  test('is reported by verify and doctor, with the command that goes on', async () => {
    const path = place();
    await hold(path, {}, { amount: 1 });
    writeFileSync(`${path}.key`, keyOf(8), { mode: 0o600 });
    for (const command of ['verify', 'doctor']) {
      const { code, out } = await runProgramHere([command, '--ledger', path], { cwd: folder });
      expect([command, code]).toEqual([command, 1]);
      expect(out).toContain('quittance rotate-key --lost');
    }
  });
});
