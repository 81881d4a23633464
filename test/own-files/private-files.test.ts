import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { OpenLedger } from 'quittance/store';
import { createRuntime } from 'quittance';
import { createHttpServer } from '@quittance/server';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

let root = '';
let folder = '';
let path = '';
let ledger: OpenLedger | undefined;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'private-'));
  folder = join(root, 'state');
  path = join(folder, 'ledger.db');
});
afterEach(async () => {
  await ledger?.close();
  ledger = undefined;
  rmSync(root, { recursive: true, force: true });
});

const open = async (): Promise<OpenLedger> => (ledger = await openLedger(path));
const key = (): string => `${path}.key`;
const tokens = (): string => `${path}.tokens`;

/** Starts a server on the ledger, like `quittance serve`. */
async function serve(): Promise<void> {
  const opened = await open();
  const runtime = createRuntime({ tools: [], ledger: opened });
  const server = await createHttpServer({ ledger: opened, ledgerUrl: path, runtime, port: 0 });
  await server.close();
  await runtime.close();
}

const writeTokens = (mode: number): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(tokens(), '{"version":1,"tokens":[],"logins":[]}');
  chmodSync(tokens(), mode);
};

const writeKey = (mode: number): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(key(), Buffer.alloc(32, 7));
  chmodSync(key(), mode);
};

describe('the seal key', () => {
  test.each([
    [0o644, 'can be read by others'],
    [0o640, 'can be read by others'],
    [0o660, 'can be written by others'],
    [0o602, 'can be written by others'],
  ])('the seal key of mode %o is refused: it %s', async (mode, why) => {
    writeKey(mode);
    const opened = await open();
    expect(() => createRuntime({ tools: [], ledger: opened })).toThrow(
      `The seal key, ${key()}, ${why}. Put it right with: chmod 600 ${key()}`,
    );
    chmodSync(key(), 0o600);
    expect(() => createRuntime({ tools: [], ledger: opened })).not.toThrow();
  });

  test('is created for its user only, in a folder for its user only', async () => {
    void (await open()).sealKey;
    expect(statSync(key()).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test('the seal key in a folder that others can write is refused, even before it exists', async () => {
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    const opened = await open();
    expect(() => opened.sealKey).toThrow(
      `The folder of the seal key, ${folder}, can be written by others. Put it right with: chmod go-w ${folder}`,
    );
  });

  test('behind a link is judged by its real location', async () => {
    const elsewhere = join(root, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'key'), Buffer.alloc(32, 7), { mode: 0o600 });
    mkdirSync(folder, { mode: 0o700 });
    symlinkSync(join(elsewhere, 'key'), key());
    chmodSync(elsewhere, 0o777);
    const opened = await open();
    expect(() => opened.sealKey).toThrow(
      `The folder of the seal key, ${elsewhere}, can be written by others.`,
    );
    chmodSync(elsewhere, 0o755);
    expect(opened.sealKey).toHaveLength(32);
  });

  test('the seal key that is a folder is refused', async () => {
    mkdirSync(key(), { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    const opened = await open();
    expect(() => opened.sealKey).toThrow('is not a regular file');
  });

  // Only root can change the owner of a file.
  test.skipIf(userInfo().uid !== 0)('the seal key of another user is refused', async () => {
    writeKey(0o600);
    chownSync(key(), 12_345, 12_345);
    const opened = await open();
    expect(() => opened.sealKey).toThrow(`belongs to another user. Put it right with: chown 0 ${key()}`);
  });

  test('the seal key in a folder with a space is fixed by a command that can be typed', async () => {
    folder = join(root, "Ada's state");
    path = join(folder, 'ledger.db');
    writeKey(0o644);
    const opened = await open();
    expect(() => opened.sealKey).toThrow(`chmod 600 '${root}/Ada'\\''s state/ledger.db.key'`);
  });
});

describe('the token file', () => {
  test.each([0o660, 0o606, 0o622])(
    'the token file of mode %o stops the server at its start',
    async (mode) => {
      writeTokens(mode);
      await expect(serve()).rejects.toThrow(
        `The token file, ${tokens()}, can be written by others. Put it right with: chmod 600 ${tokens()}`,
      );
    },
  );

  test('the token file that others can only read is accepted: it contains digests', async () => {
    writeTokens(0o644);
    await expect(serve()).resolves.toBeUndefined();
  });

  test('behind a link into a folder that others can write stops the server', async () => {
    const elsewhere = join(root, 'elsewhere');
    mkdirSync(elsewhere);
    chmodSync(elsewhere, 0o777);
    writeFileSync(join(elsewhere, 'tokens'), '{"version":1,"tokens":[],"logins":[]}', { mode: 0o600 });
    mkdirSync(folder, { mode: 0o700 });
    symlinkSync(join(elsewhere, 'tokens'), tokens());
    await expect(serve()).rejects.toThrow(
      `The folder of the token file, ${elsewhere}, can be written by others.`,
    );
  });

  test('the token file in a folder that others can write stops the server even if the file does not exist yet', async () => {
    mkdirSync(folder);
    writeKey(0o600);
    chmodSync(folder, 0o777);
    await expect(serve()).rejects.toThrow('can be written by others');
  });
});
