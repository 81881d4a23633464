import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { newOwnerId } from '../files/owner-id.ts';
import { readProcess } from '../files/system-process.ts';
import { forgetOwner, readLockProcesses, readOwnerStatus, listOwners, takeOwnerLock } from './owner-lock.ts';

const root = mkdtempSync(join(tmpdir(), 'quittance-owners-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(root, { recursive: true });
});
let count = 0;
const newFolder = (): string => join(root, String(count++), 'owners');

const nodeArguments = ['--input-type=module-typescript'];

/** An owner in its own process, which lives until it is killed. */
async function startOwner(folder: string): Promise<{ child: ChildProcess; ownerId: string }> {
  const ownerId = newOwnerId();
  const program = `
    import { takeOwnerLock } from ${JSON.stringify(join(import.meta.dirname, 'owner-lock.ts'))};
    globalThis.lock = takeOwnerLock(${JSON.stringify(folder)}, ${JSON.stringify(ownerId)});
    console.log('ready');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, [...nodeArguments, '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
  return { child, ownerId };
}

describe('an owner', () => {
  test('lives until it ends, and leaves nothing behind', () => {
    const folder = newFolder();
    const [one, other] = [newOwnerId(), newOwnerId()];
    const [lockOne, lockOther] = [takeOwnerLock(folder, one), takeOwnerLock(folder, other)];
    for (let n = 0; n < 3; n++)
      expect([readOwnerStatus(folder, one), readOwnerStatus(folder, other)]).toEqual(['alive', 'alive']);
    lockOne.end();
    expect([readOwnerStatus(folder, one), readOwnerStatus(folder, other)]).toEqual(['gone', 'alive']);
    expect(listOwners(folder)).toEqual([other]);
    lockOther.end();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('an owner in another process lives while it is stopped, and is gone as soon as it is killed', async () => {
    const folder = newFolder();
    const { child, ownerId } = await startOwner(folder);
    expect(readOwnerStatus(folder, ownerId)).toBe('alive');
    child.kill('SIGSTOP');
    expect(readOwnerStatus(folder, ownerId)).toBe('alive');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(readOwnerStatus(folder, ownerId)).toBe('gone');
    expect(listOwners(folder)).toEqual([ownerId]);
  });

  test('is forgotten only when it is gone', async () => {
    const folder = newFolder();
    const { child, ownerId } = await startOwner(folder);
    forgetOwner(folder, ownerId);
    expect(readOwnerStatus(folder, ownerId)).toBe('alive');
    child.kill('SIGKILL');
    await once(child, 'exit');
    forgetOwner(folder, ownerId);
    expect(listOwners(folder)).toEqual([]);
    forgetOwner(folder, ownerId);
  });

  test('is listed with its process while it lives, and not with what a dead one left', () => {
    const folder = newFolder();
    expect(readLockProcesses(folder)).toEqual([]);
    const ownerId = newOwnerId();
    const lock = takeOwnerLock(folder, ownerId);
    const own = readProcess(process.pid);
    expect(readLockProcesses(folder)).toMatchObject([{ pid: process.pid, startedAt: own?.startedAt }]);
    const left = readFileSync(join(folder, `${ownerId}.process`));
    lock.end();
    expect(readdirSync(folder)).toEqual([]);
    // A killed process leaves both files, and another one may get its id.
    writeFileSync(join(folder, ownerId), '');
    writeFileSync(join(folder, `${ownerId}.process`), left);
    expect(readLockProcesses(folder)).toEqual([]);
    forgetOwner(folder, ownerId);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('an owner that never existed is gone, and asking about it creates no file', () => {
    const folder = newFolder();
    for (const ownerId of [newOwnerId(), '', '..', '../../x', 'own_x', `${newOwnerId()}\u0000`]) {
      expect(readOwnerStatus(folder, ownerId)).toBe('gone');
      forgetOwner(folder, ownerId);
    }
    expect(listOwners(folder)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
    const lock = takeOwnerLock(folder, newOwnerId());
    expect(readOwnerStatus(folder, newOwnerId())).toBe('gone');
    expect(listOwners(folder)).toHaveLength(1);
    lock.end();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('[no-silent-rerun] is unknown, not gone, to a process that has no descriptors left', async () => {
    const folder = newFolder();
    const { ownerId } = await startOwner(folder);
    const program = `
      import { openSync } from 'node:fs';
      import { listOwners, readOwnerStatus } from ${JSON.stringify(join(import.meta.dirname, 'owner-lock.ts'))};
      const ask = () => readOwnerStatus(${JSON.stringify(folder)}, ${JSON.stringify(ownerId)});
      const before = ask();
      try { for (;;) openSync('/dev/null'); } catch (error) { if (error.code !== 'EMFILE') throw error; }
      console.log(JSON.stringify([before, ask(), listOwners(${JSON.stringify(folder)})]));`;
    const child = spawn(
      'sh',
      ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, ...nodeArguments, '-e', program],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    expect(JSON.parse(said.toString())).toEqual(['alive', 'unknown', []]);
  });

  test.each([
    ['a folder in its place', (path: string) => mkdirSync(path, { recursive: true })],
    ['a link that leads back to itself', (path: string) => symlinkSync(path, path)],
  ])('is unknown behind %s', (_, put) => {
    const folder = newFolder();
    mkdirSync(folder, { recursive: true });
    const ownerId = newOwnerId();
    put(join(folder, ownerId));
    expect(readOwnerStatus(folder, ownerId)).toBe('unknown');
  });

  test('gets an error instead of retrying forever if its file cannot be created', () => {
    const folder = newFolder();
    const ownerId = newOwnerId();
    mkdirSync(join(folder, ownerId), { recursive: true });
    const program = `
      import { takeOwnerLock } from ${JSON.stringify(join(import.meta.dirname, 'owner-lock.ts'))};
      try { takeOwnerLock(${JSON.stringify(folder)}, ${JSON.stringify(ownerId)}); }
      catch (error) { console.log(error.message); }`;
    // In a process that can be killed: nothing else stops a loop that never yields.
    const { stdout } = spawnSync(process.execPath, [...nodeArguments, '-e', program], {
      encoding: 'utf8',
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    expect(stdout).toMatch(/^unable to open database file/);
  });

  test('is gone if its file has other bytes and no process has it locked', () => {
    const folder = newFolder();
    mkdirSync(folder, { recursive: true });
    const ownerId = newOwnerId();
    writeFileSync(join(folder, ownerId), 'x'.repeat(5_000));
    expect(readOwnerStatus(folder, ownerId)).toBe('gone');
  });
});
