import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { forgetOwner, isOwnerAlive, listOwners, newOwnerId, takeOwnerLock } from './owner-lock.ts';

const root = mkdtempSync(join(tmpdir(), 'quittance-owners-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(root, { recursive: true });
});
let count = 0;
const newFolder = (): string => join(root, String(count++), 'owners');

/** An owner in a process of its own, which lives until it is killed. */
async function startOwner(folder: string): Promise<{ child: ChildProcess; ownerId: string }> {
  const ownerId = newOwnerId();
  const program = `
    import { takeOwnerLock } from ${JSON.stringify(join(import.meta.dirname, 'owner-lock.ts'))};
    globalThis.end = takeOwnerLock(${JSON.stringify(folder)}, ${JSON.stringify(ownerId)});
    console.log('ready');
    setInterval(() => {}, 1000);`;
  const child = spawn(
    process.execPath,
    ['--input-type=module-typescript', '--disable-warning=ExperimentalWarning', '-e', program],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  children.push(child);
  await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
  return { child, ownerId };
}

describe('an owner', () => {
  test('lives until it ends, and leaves nothing behind', () => {
    const folder = newFolder();
    const [one, other] = [newOwnerId(), newOwnerId()];
    const [endOne, endOther] = [takeOwnerLock(folder, one), takeOwnerLock(folder, other)];
    for (let n = 0; n < 3; n++)
      expect([isOwnerAlive(folder, one), isOwnerAlive(folder, other)]).toEqual([true, true]);
    endOne();
    expect([isOwnerAlive(folder, one), isOwnerAlive(folder, other)]).toEqual([false, true]);
    expect(listOwners(folder)).toEqual([other]);
    endOther();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('in another process lives while it is stopped, and is gone as soon as it is killed', async () => {
    const folder = newFolder();
    const { child, ownerId } = await startOwner(folder);
    expect(isOwnerAlive(folder, ownerId)).toBe(true);
    child.kill('SIGSTOP');
    expect(isOwnerAlive(folder, ownerId)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isOwnerAlive(folder, ownerId)).toBe(false);
    expect(listOwners(folder)).toEqual([ownerId]);
  });

  test('that lives is not forgotten, and one that is gone is', async () => {
    const folder = newFolder();
    const { child, ownerId } = await startOwner(folder);
    forgetOwner(folder, ownerId);
    expect(isOwnerAlive(folder, ownerId)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    forgetOwner(folder, ownerId);
    expect(listOwners(folder)).toEqual([]);
    forgetOwner(folder, ownerId);
  });

  test('that nobody has heard of is gone, and asking after it makes no file', () => {
    const folder = newFolder();
    for (const ownerId of [newOwnerId(), '', '..', '../../x', 'own_x', `${newOwnerId()}\u0000`]) {
      expect(isOwnerAlive(folder, ownerId)).toBe(false);
      forgetOwner(folder, ownerId);
    }
    expect(listOwners(folder)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
    const end = takeOwnerLock(folder, newOwnerId());
    expect(isOwnerAlive(folder, newOwnerId())).toBe(false);
    expect(readdirSync(folder)).toHaveLength(1);
    end();
  });
});
