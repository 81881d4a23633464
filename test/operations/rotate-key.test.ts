/** Rotation of the seal key through the command line: held calls with hidden input survive it. */
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Runtime } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';
import {
  createKeyRing,
  formatKeyRing,
  parseKeyRing,
  createSeal,
} from '../../packages/quittance/src/ledger/seal.ts';
import { openLedgerFile } from '../../packages/quittance/src/store/sqlite/open-file.ts';
import { eventually } from '../eventually.ts';
import { confirming, runProgramHere } from '../run-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-rotate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let path: string;
let count = 0;
let seen: string[] = [];
beforeEach(() => {
  path = join(folder, `${++count}.db`);
  seen = [];
});
const tools = [
  defineTool({
    name: 'transfer',
    mode: 'destructive',
    input: { type: 'object' },
    run: ({ password }: { password?: string }) => {
      seen.push(String(password));
      return { done: true };
    },
  }),
];
const run = (...args: readonly string[]): ReturnType<typeof runProgramHere> =>
  runProgramHere([...args, '--ledger', path], { cwd: folder, readTyped: confirming });

async function withRuntime<Result>(
  work: (runtime: Runtime, ledger: OpenLedger) => Promise<Result>,
): Promise<Result> {
  const ledger = await openLedger(path);
  const runtime = createRuntime({ tools, ledger });
  try {
    return await work(runtime, ledger);
  } finally {
    await runtime.close();
    await ledger.close();
  }
}

/** The runtime opens the ledger itself. */
async function withUrl(work: (runtime: Runtime) => Promise<void>): Promise<void> {
  const runtime = createRuntime({ tools, ledger: `sqlite:${path}` });
  try {
    await work(runtime);
  } finally {
    await runtime.close();
  }
}

const call = (id: string): { id: string; name: string; arguments: { password: string } } => ({
  id,
  name: 'transfer',
  arguments: { password: `hunter2-${id}` },
});

const hold = (runtime: Runtime, ...ids: readonly string[]): Promise<unknown> =>
  Promise.all(
    ids.map(async (id) => {
      await runtime.turn({ sessionId: 's' }).submit(call(id)).accepted;
      await eventually(async () => {
        const { rows } = await runtime.confirmations.list({ status: 'pending' });
        expect(rows.map(({ callId }) => callId)).toContain(id);
      });
    }),
  );

async function approve(runtime: Runtime, id: string): Promise<unknown> {
  const { rows } = await runtime.confirmations.list({ status: 'pending' });
  const held = rows.find(({ callId }) => callId === id);
  if (held === undefined) throw new Error(`${id} is not held.`);
  const { confirmationId, inputDigest } = held;
  await runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'ada', inputDigest });
  return runtime.turn({ sessionId: 's' }).call(call(id));
}

const ring = (): ReturnType<typeof parseKeyRing> => parseKeyRing(new Uint8Array(readFileSync(`${path}.key`)));

async function sealedTexts(): Promise<readonly string[]> {
  const database = await openLedgerFile(path, true);
  try {
    return database
      .prepare<{ text: string }>('SELECT text FROM sealed')
      .all()
      .map(({ text }) => text);
  } finally {
    database.close();
  }
}

describe('a rotation', () => {
  test('[secrets-stay-out] seals held inputs again, removes the old key, and the call runs with its exact input', async () => {
    await withRuntime((runtime) => hold(runtime, 'a', 'b'));
    copyFileSync(`${path}.key`, join(folder, 'first.key'));
    const before = await sealedTexts();
    const saved = join(folder, `old-${count}.key`);
    expect(await run('rotate-key', '--save-old', saved, '--json')).toMatchObject({
      code: 0,
      out: expect.stringContaining('"state":"done","began":true,"resealed":2,"unopened":0') as string,
    });
    expect(statSync(saved).mode & 0o777).toBe(0o600);
    const after = await sealedTexts();
    expect(after).toHaveLength(2);
    expect(after.filter((text) => before.includes(text))).toEqual([]);
    // The old key opens nothing any more, and the saved one is that key.
    const old = new Uint8Array(readFileSync(join(folder, 'first.key')));
    for (const text of after) expect(() => createSeal(old).open(text, '["s","a"]')).toThrow('does not open');
    expect(Buffer.from(parseKeyRing(new Uint8Array(readFileSync(saved))).current)).toEqual(Buffer.from(old));
    expect(ring()).toMatchObject({ older: [] });
    expect(await run('verify')).toMatchObject({ code: 0 });
    await withRuntime(async (runtime) => {
      expect(await approve(runtime, 'a')).toMatchObject({ type: 'ToolExecutionResult' });
      // A repeat is recognized by its digest, which has the same key as before.
      expect(await runtime.turn({ sessionId: 's' }).call(call('a'))).toMatchObject({
        type: 'ToolExecutionResult',
      });
    });
    expect(seen).toEqual(['hunter2-a']);
    // And once more: rotations can follow each other.
    expect(await run('rotate-key')).toMatchObject({ code: 0 });
    await withRuntime((runtime) => approve(runtime, 'b'));
    expect(seen).toEqual(['hunter2-a', 'hunter2-b']);
  });

  test.each([
    ['open ledger', withRuntime],
    ['URL', withUrl],
  ])(
    'keeps the old key while a process runs on its %s, and opens what others seal with the new one',
    async (_, on) => {
      await on(async (runtime) => {
        await hold(runtime, 'a');
        expect(await run('rotate-key')).toMatchObject({
          code: 1,
          err: expect.stringContaining('1 process that has the ledger open') as string,
        });
        expect(ring().older).toHaveLength(1);
        // Its input was sealed again with a key that this runtime has not read yet.
        expect(await approve(runtime, 'a')).toMatchObject({ type: 'ToolExecutionResult' });
        await hold(runtime, 'b');
      });
      expect(seen).toEqual(['hunter2-a']);
      expect(await run('doctor')).toMatchObject({
        out: expect.stringContaining(
          '→ Restart the processes of this ledger, then run: quittance rotate-key',
        ) as string,
      });
      expect(await run('rotate-key')).toMatchObject({
        code: 0,
        out: expect.stringContaining('Continued an earlier rotation') as string,
      });
      expect(ring().older).toEqual([]);
      await withRuntime((runtime) => approve(runtime, 'b'));
      expect(seen).toEqual(['hunter2-a', 'hunter2-b']);
    },
  );

  test('goes on after a crash at any step', async () => {
    await withRuntime((runtime) => hold(runtime, 'a'));
    const first = new Uint8Array(readFileSync(`${path}.key`));
    // Killed after the new key was stored, before anything was sealed with it.
    const next = new Uint8Array(Buffer.alloc(32, 7));
    writeFileSync(`${path}.key`, formatKeyRing(createKeyRing([next, first])));
    expect(await run('rotate-key', '--json')).toMatchObject({
      code: 0,
      out: expect.stringContaining('"began":false,"resealed":1') as string,
    });
    expect(Buffer.from(ring().current)).toEqual(Buffer.from(next));
    // Killed after everything was sealed again, before the old key was removed.
    writeFileSync(
      `${path}.key`,
      formatKeyRing({ current: next, older: [first], digestKey: createKeyRing([first]).digestKey }),
    );
    expect(await run('rotate-key', '--json')).toMatchObject({
      code: 0,
      out: expect.stringContaining('"began":false,"resealed":0') as string,
    });
    await withRuntime((runtime) => approve(runtime, 'a'));
    expect(seen).toEqual(['hunter2-a']);
  });
});

describe('a lost or wrong key', () => {
  test('[secrets-stay-out] is not replaced by a new one', async () => {
    await withRuntime((runtime) => hold(runtime, 'a'));
    copyFileSync(`${path}.key`, `${path}.saved`);
    rmSync(`${path}.key`);
    const refused = expect.objectContaining({
      code: 'config.invalid',
      message: expect.stringContaining('a new key would not open') as string,
    }) as unknown;
    await expect(withRuntime(() => Promise.resolve())).rejects.toEqual(refused);
    // With the URL alone, the key is needed for the first hidden input.
    await withUrl(async (runtime) => {
      const outcome = await runtime.turn({ sessionId: 's', timeoutMs: 2_000 }).call(call('b')).catch(String);
      expect(JSON.stringify(outcome)).toContain('a new key would not open');
    });
    expect(await run('rotate-key')).toMatchObject({
      code: 2,
      err: expect.stringContaining('QUITTANCE_SEAL_KEY_FILE') as string,
    });
    // A person may still decide: that opens nothing.
    const { out } = await run('pending', '--json');
    const { inputDigest } = JSON.parse(out) as { inputDigest: string };
    const decided = await run('approve', 'a', '--by', 'Ada', '--digest', inputDigest, '--reason', 'fine');
    expect([decided.code, existsSync(`${path}.key`)]).toEqual([0, false]);
    copyFileSync(`${path}.saved`, `${path}.key`);
    await withRuntime((runtime) => runtime.recover());
    expect(seen).toEqual(['hunter2-a']);
    rmSync(`${path}.key`);
    // Nothing is sealed any more, but digests of hidden inputs need the key.
    await expect(withRuntime(() => Promise.resolve())).rejects.toEqual(refused);
    expect(existsSync(`${path}.key`)).toBe(false);
  });

  test('a lost or wrong key that is missing can be given up', async () => {
    await withRuntime((runtime) => hold(runtime, 'a'));
    rmSync(`${path}.key`);
    expect(await run('rotate-key', '--lost')).toMatchObject({
      code: 0,
      out: expect.stringContaining('Removed 1 sealed inputs') as string,
    });
    await withRuntime((runtime) => runtime.recover());
    expect(seen).toEqual([]);
  });

  test('[secrets-stay-out] is said, and a reset ends what needed it instead of running it with masked values', async () => {
    await withRuntime((runtime) => hold(runtime, 'a'));
    writeFileSync(`${path}.key`, Buffer.alloc(32, 1), { mode: 0o600 });
    expect(await run('verify')).toMatchObject({ code: 1, out: expect.stringMatching(/seal/i) as string });
    expect(await run('rotate-key')).toMatchObject({
      code: 1,
      err: expect.stringContaining('1 sealed inputs that no key opens') as string,
    });
    expect(await run('rotate-key', '--lost')).toMatchObject({
      code: 0,
      out: expect.stringContaining('Removed 1 sealed inputs') as string,
    });
    expect(await sealedTexts()).toEqual([]);
    await withRuntime(async (runtime) => {
      await runtime.recover();
      const [view] = await runtime.calls.list({ sessionId: 's' });
      expect(view?.settled?.outcome).toMatchObject({ type: 'ToolDenied', reason: 'expired' });
    });
    expect(seen).toEqual([]);
    rmSync(`${path}.key`);
    expect(await run('doctor')).toMatchObject({
      out: expect.stringContaining('If it is lost: quittance rotate-key --lost') as string,
    });
    expect(existsSync(`${path}.key`)).toBe(false);
  });
});

test('keys come from a variable too, several with commas between them', async () => {
  const hex = (byte: number): string => Buffer.alloc(32, byte).toString('hex');
  const { findGivenSealKey } = await import('../../packages/quittance/src/store/seal-key.ts');
  const found = findGivenSealKey({ QUITTANCE_SEAL_KEY: `${hex(2)},${hex(1)}` }, {});
  const read = parseKeyRing(found?.sealKey);
  expect([read.current[0], read.older.map(([byte]) => byte)]).toEqual([2, [1]]);
  const sealed = createSeal(new Uint8Array(32).fill(1)).seal('text', 'for');
  expect(createSeal(found?.sealKey ?? new Uint8Array()).open(sealed, 'for')).toBe('text');
});
