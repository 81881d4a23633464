/**
 * Gives the tests of one run their own temporary folder, and removes it afterwards: Vitest calls this before
 * any test runs. The folder is in memory if the machine has room, because most tests would otherwise wait for
 * a disk. A killed process loses nothing that it wrote to either, so the tests prove the same on both.
 *
 * Set TMPDIR to choose the folder, for example to run the tests on a disk: `TMPDIR=/var/tmp npm test`.
 */
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
const name = 'quittance-tests-';
/** The tests use a fraction of this at a time. */
const enoughBytes = 2 * 2 ** 30;

export default function setup(): () => void {
  removeLeftovers();
  const given = process.env['TMPDIR'];
  const folder = (given === undefined && hasRoom() ? makeFolder(memory) : undefined) ?? makeFolder(tmpdir());
  if (folder === undefined) return () => undefined;
  process.env['TMPDIR'] = folder;
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  // Ctrl-C ends a run without its teardown, and without an `exit` unless a handler asks for one.
  const exit = (): never => process.exit(130);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.once(signal, exit);
  process.once('exit', remove);
  return () => {
    for (const signal of signals) process.off(signal, exit);
    if (given === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = given;
    remove();
  };
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= enoughBytes && freemem() >= 2 * enoughBytes;
  } catch {
    return false; // Only Linux has it.
  }
}

/** A new folder that every user can use and programs can run in, as in /tmp. Some systems forbid programs in memory. */
function makeFolder(parent: string): string | undefined {
  try {
    accessSync(parent, constants.W_OK);
  } catch {
    return undefined;
  }
  const folder = mkdtempSync(join(parent, `${name}${process.pid}-`));
  chmodSync(folder, 0o1777);
  if (process.platform === 'win32') return folder;
  const probe = join(folder, 'probe');
  writeFileSync(probe, '#!/bin/sh\n', { mode: 0o755 });
  const { status } = spawnSync(probe);
  rmSync(status === 0 ? probe : folder, { recursive: true });
  return status === 0 ? folder : undefined;
}

/** Removes the folders of runs that were killed, or whose processes wrote to the end. They take up memory. */
export function removeLeftovers(): void {
  for (const parent of new Set([memory, tmpdir()]))
    for (const entry of existsSync(parent) ? readdirSync(parent) : []) {
      const pid = Number(entry.startsWith(name) ? entry.slice(name.length).split('-')[0] : Number.NaN);
      if (!Number.isInteger(pid) || isAlive(pid)) continue;
      try {
        rmSync(join(parent, entry), { recursive: true, force: true });
      } catch {
        // It belongs to another user.
      }
    }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
