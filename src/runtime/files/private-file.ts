/**
 * Refuses secrets that other users could read or replace: a key, a token file, and their folder. Only systems
 * with file owners and modes are checked. Windows is not, because its modes carry no information.
 */
import type { Stats } from 'node:fs';
import { lstatSync, realpathSync, statSync } from 'node:fs';
import { platform, userInfo } from 'node:os';
import { dirname } from 'node:path';
import { QuittanceError } from '../../base/error.ts';

export type PrivateFile = {
  readonly path: string;
  /** The kind of file for the message: "seal key". */
  readonly what: string;
  /** Must it be unreadable for others? */
  readonly secret: boolean;
};

/** Throws `config.invalid` with the command that fixes it. Does nothing if the file does not exist. */
export function checkPrivateFile({ path, what, secret }: PrivateFile): void {
  if (platform() === 'win32') return;
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return checkFolder(dirname(path), what);
  const user = userInfo();
  const isOurs = ({ uid }: Stats): boolean => uid === user.uid || uid === 0;
  if (!isOurs(found)) refuse(path, what, 'belongs to another user', `chown ${user.uid} ${quote(path)}`);
  checkFolder(dirname(path), what);
  const target = found.isSymbolicLink() ? realpathSync(path) : path;
  if (target !== path) checkFolder(dirname(target), what);
  const file = target === path ? found : statSync(target);
  if (!file.isFile()) refuse(path, what, 'is not a regular file', `rm ${quote(path)}`);
  if (!isOurs(file)) refuse(target, what, 'belongs to another user', `chown ${user.uid} ${quote(target)}`);
  if ((file.mode & 0o022) !== 0)
    refuse(target, what, 'can be written by others', `chmod 600 ${quote(target)}`);
  if (secret && (file.mode & 0o044) !== 0)
    refuse(target, what, 'can be read by others', `chmod 600 ${quote(target)}`);
}

/** Users who can write to the folder can replace the file. */
function checkFolder(folder: string, what: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return;
  const user = userInfo();
  const isSticky = (found.mode & 0o1000) !== 0;
  if (found.uid !== user.uid && found.uid !== 0 && user.uid !== 0)
    refuse(
      folder,
      what,
      'belongs to another user',
      `chown ${user.uid} ${quote(folder)}`,
      'The folder of the',
    );
  // On systems that create a group with the number of its user, that group has no other member.
  const isOwnGroup = user.uid === user.gid && found.gid === user.gid;
  const dangerous = isOwnGroup ? 0o002 : 0o022;
  if (!isSticky && (found.mode & dangerous) !== 0)
    refuse(folder, what, 'can be written by others', `chmod go-w ${quote(folder)}`, 'The folder of the');
}

const quote = (path: string): string =>
  /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;

function refuse(path: string, what: string, why: string, command: string, subject = 'The'): never {
  throw new QuittanceError(
    'config.invalid',
    `${subject} ${what}, ${path}, ${why}. Put it right with: ${command}`,
    { path, command },
  );
}
