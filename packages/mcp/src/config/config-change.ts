/**
 * Changes of a client's configuration file.
 *
 * 1. The record of an installation and a copy of the file are stored before the file changes.
 * 2. The file is replaced in one step, and only if it still is what was read. A link stays a link.
 * 3. Records and copies hold secrets, so only their owner can read them.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject, readJsonText } from 'quittance/internal/base/json';
import { lockFile, replaceFile } from 'quittance/internal/store/files/replace-file';
import type { ConfigPath } from './config-document.ts';
import type { ChangedEntry } from './rewrite-config.ts';

export type ConfigChange = {
  readonly file: string;
  /** Folder for records and copies. */
  readonly folder: string;
  /** The text that was read, and its successor. */
  readonly from: string;
  readonly to: string;
  /** The entries behind the gateway after the change, with their original texts. */
  readonly installed: readonly ChangedEntry[];
  readonly now: number;
};

/** Makes the change and returns the path of the copy. Throws if the file changed since it was read. */
export function changeConfigFile({ file, folder, from, to, installed, now }: ConfigChange): string {
  const real = realpathSync(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const record = recordPath(folder, real);
  const release = lockFile(`${record}.lock`, 'installation');
  const draft = `${real}.quittance-${randomBytes(4).toString('hex')}`;
  try {
    refuseIfChanged(real, from);
    const time = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '');
    const copy = `${record.slice(0, -5)}.${time}-${randomBytes(2).toString('hex')}.bak`;
    writeFileSync(copy, from, { mode: 0o600, flag: 'wx', flush: true });
    replaceFile(record, `${JSON.stringify({ version: 1, file: real, installed }, null, 1)}\n`);
    const { mode, uid, gid } = statSync(real);
    writeFileSync(draft, to, { mode: 0o600, flag: 'wx', flush: true });
    keepOwner(draft, uid, gid);
    chmodSync(draft, mode & 0o7777);
    refuseIfChanged(real, from);
    renameSync(draft, real);
    return copy;
  } finally {
    rmSync(draft, { force: true });
    release();
  }
}

/** The entries that earlier installations changed in this file. */
export function readInstalled(folder: string, file: string): readonly ChangedEntry[] {
  const path = recordPath(folder, realpathSync(file));
  if (!existsSync(path)) return [];
  const damaged = new QuittanceError('config.invalid', `${path} is damaged. Move it away and try again.`);
  let value;
  try {
    value = readJsonText(readFileSync(path, 'utf8'));
  } catch {
    throw damaged;
  }
  if (!isJsonObject(value) || value['version'] !== 1 || !Array.isArray(value['installed'])) throw damaged;
  return value['installed'].map((entry) => {
    if (!isJsonObject(entry)) throw damaged;
    const { path: place, before, after } = entry;
    if (!Array.isArray(place) || typeof before !== 'string' || typeof after !== 'string') throw damaged;
    // Written from a path; a path holds texts and numbers.
    return { path: place as ConfigPath, before, after };
  });
}

const recordPath = (folder: string, real: string): string =>
  join(folder, `${basename(real)}-${createHash('sha256').update(real).digest('hex').slice(0, 12)}.json`);

function refuseIfChanged(real: string, text: string): void {
  if (readFileSync(real, 'utf8') !== text)
    throw new QuittanceError(
      'config.invalid',
      `${real} changed while this program worked on it. Close its client and try again; nothing was written.`,
    );
}

function keepOwner(draft: string, uid: number, gid: number): void {
  try {
    chownSync(draft, uid, gid);
  } catch (error) {
    // Only root may give files away; everyone else owns what they may write here.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}
