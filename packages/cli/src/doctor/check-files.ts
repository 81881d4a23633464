import { constants, existsSync, readFileSync, statSync } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isQuittanceError } from 'quittance/internal/base/error';
import { ContentFile } from '@quittance/server/internal/http/content-file';
import { signInFilePath } from '@quittance/server/internal/http/sign-in/open-sign-in-content';
import { signInFormat } from 'quittance/internal/runtime/tokens';
import { TokenFile, tokenFilePath } from '@quittance/server/internal/http/token-file';
import { isKeyRing, parseKeyRing } from 'quittance/internal/ledger/seal';
import { checkPrivateFile } from 'quittance/internal/runtime/own-files';
import { findGivenSealKey } from 'quittance/internal/store/seal-key';
import { isKeyOf } from 'quittance/internal/store/sqlite/key-check';
import { findMissingPart, openLedgerFile } from 'quittance/internal/store/sqlite/open-file';
import type { Finding } from './finding.ts';
import { fine, problem, warning } from './finding.ts';

const mebibyte = 1_048_576;
const enoughBytes = 512 * mebibyte;
const leastBytes = 16 * mebibyte;
const longLogBytes = 256 * mebibyte;

/** Types of file systems on which SQLite's locks or shared memory do not work, by the number that Linux gives them. */
const networkFileSystems: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x01021997, '9p (a folder of the Windows host, or of a virtual machine)'],
]);

/** The files of a ledger on disk: rights, room, the log and the key. */
export async function* checkFiles(
  path: string,
  /** The file of the seal key, or `elsewhere` if a variable or a command gives the key itself. */
  keyFile: string,
): AsyncGenerator<Finding> {
  const folder = dirname(resolve(path));
  // Measured first: the checks that open the ledger may merge its log.
  const log = [...checkLog(path)];
  const missing = await findMissingPart(path);
  if (missing !== undefined)
    yield problem('ledger', missing.message, 'Stop the processes of this ledger, then: quittance verify');
  if (!existsSync(path)) {
    if (missing !== undefined) return;
    yield problem(
      'ledger',
      `There is no ledger at ${path}.`,
      'Name it with --ledger, or start quittance serve, which creates one.',
    );
    return;
  }
  yield* checkRights(path);
  if (keyFile !== 'elsewhere') yield* checkKey(keyFile, path);
  yield* checkContents(path);
  try {
    await access(folder, constants.W_OK);
    await access(path, constants.W_OK);
  } catch {
    yield problem(
      'ledger',
      `This user cannot write ${path} or its folder, which also holds the log and the spill files.`,
      `Run as the user of the service, or: chown -R $(id -u) ${folder}`,
    );
  }
  yield* checkDisk(folder);
  yield* log;
}

function* checkRights(path: string): Generator<Finding> {
  const files = [
    { name: '', what: 'ledger', secret: true },
    { name: '.key', what: 'seal key', secret: true },
    { name: '.tokens', what: 'token file', secret: true },
    { name: '.sign-ins', what: 'file of sign-ins', secret: true },
    { name: '.spill', what: 'spill folder', secret: false },
  ];
  let found = 0;
  for (const { name, what, secret } of files) {
    const bad = name === '.spill' ? undefined : refusalOf(path + name, what, secret);
    if (bad === undefined) continue;
    found++;
    yield problem('permissions', bad.message, bad.remedy);
  }
  if (found === 0) yield fine('permissions', 'ledger, key, tokens and sign-ins are private');
}

function refusalOf(
  path: string,
  what: string,
  secret: boolean,
): { readonly message: string; readonly remedy: string } | undefined {
  try {
    checkPrivateFile({ path, what, secret });
    return undefined;
  } catch (error) {
    if (!isQuittanceError(error, 'config.invalid')) throw error;
    const [message = ''] = error.message.split(' Put it right with:');
    // The remedy never removes what may be worth keeping.
    if (!isFile(path))
      return { message, remedy: `Name another path, or move it away: mv ${path} ${path}.old` };
    return { message, remedy: error.facts['command'] ?? `chmod 600 ${path}` };
  }
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** Can the server read its tokens and sign-ins? Without them, it refuses every caller. */
function* checkContents(path: string): Generator<Finding> {
  const contents = [
    {
      file: tokenFilePath(path),
      what: 'tokens',
      read: () => new TokenFile(tokenFilePath(path), Date.now).list(),
    },
    {
      file: signInFilePath(path),
      what: 'sign-ins',
      read: () => new ContentFile(signInFilePath(path), signInFormat).read(),
    },
  ];
  for (const { file, what, read } of contents) {
    if (!isFile(file)) continue;
    try {
      read();
      yield fine(what, file);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      yield problem(
        what,
        `The ${what} in ${file} cannot be read: ${why}`,
        what === 'tokens'
          ? `Restore the file from a backup. Without one, move it away and create tokens again: mv ${file} ${file}.old`
          : `Move it away, and let people sign in again: mv ${file} ${file}.old`,
      );
    }
  }
}

/** A file that the settings name may hold the key as text. The file next to a ledger may not. */
function keyRingIn(path: string, bytes: Buffer, isOwn: boolean): Uint8Array | undefined {
  if (isKeyRing(bytes)) return new Uint8Array(bytes);
  if (isOwn) return undefined;
  try {
    return findGivenSealKey({}, { sealKeyFile: path })?.sealKey;
  } catch (error) {
    if (!isQuittanceError(error, 'config.invalid')) throw error;
    return undefined;
  }
}

async function* checkKey(path: string, ledgerPath: string): AsyncGenerator<Finding> {
  const isOwn = path === `${ledgerPath}.key`;
  if (!existsSync(path)) {
    yield warning(
      'seal key',
      `There is no seal key file ${path}. The next process that writes creates one, unless the ledger was used with a key: a new one would not open what that one sealed.`,
      'If there was a key, restore it from your secrets. If it is lost: quittance rotate-key --lost',
    );
    return;
  }
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    yield problem(
      'seal key',
      `${path} cannot be read: ${(error as NodeJS.ErrnoException).code}.`,
      `chmod 600 ${path}`,
    );
    return;
  }
  const ring = keyRingIn(path, bytes, isOwn);
  if (ring === undefined)
    yield problem(
      'seal key',
      `${path} is not a seal key: it has ${bytes.length} bytes.`,
      'Restore the file from your secrets. If it is lost: quittance rotate-key --lost',
    );
  else if (parseKeyRing(ring).older.length > 0)
    yield warning(
      'seal key',
      'A rotation of the seal key is not finished: an old key is still in use.',
      'Restart the processes of this ledger, then run: quittance rotate-key',
    );
  else if (await isOtherKey(ledgerPath, ring))
    yield problem(
      'seal key',
      `${path} is not the seal key that the processes of this ledger used. They refuse to start with it.`,
      'Restore the file from your secrets. If it is lost: quittance rotate-key --lost',
    );
  else yield fine('seal key', 'one key');
}

async function isOtherKey(ledgerPath: string, key: Uint8Array): Promise<boolean> {
  try {
    const database = await openLedgerFile(ledgerPath, true);
    try {
      return isKeyOf(database, key) === false;
    } finally {
      database.close();
    }
  } catch {
    return false; // reported when the ledger is opened
  }
}

async function* checkDisk(folder: string): AsyncGenerator<Finding> {
  const { bavail, bsize, type, files, ffree } = await statfs(folder);
  const free = bavail * bsize;
  const shown = `${Math.floor(free / mebibyte)} MiB free in ${folder}`;
  if (free < leastBytes)
    yield problem(
      'disk',
      `${shown}. No call starts without room for its result.`,
      'Free space, or move the ledger.',
    );
  else if (free < enoughBytes)
    yield warning(
      'disk',
      `${shown}.`,
      'Free space, archive old sessions (quittance archive), or use a larger disk.',
    );
  else yield fine('disk', shown);
  if (files > 0 && ffree < 1_000)
    yield warning(
      'disk',
      `Only ${ffree} more files fit on this disk.`,
      'Remove small files that are not needed.',
    );
  const network = networkFileSystems.get(type >>> 0);
  if (network !== undefined)
    yield problem(
      'disk',
      `${folder} is on ${network}. SQLite's log needs shared memory and locks of a local disk: the ledger may be damaged.`,
      'Move the ledger to a local disk, or use PostgreSQL for several machines.',
    );
}

function* checkLog(path: string): Generator<Finding> {
  const size = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (size > longLogBytes)
    yield warning(
      'log',
      `The log ${path}-wal has ${Math.round(size / mebibyte)} MiB: a process has been reading for a long time, so it cannot be merged.`,
      'Find the process that keeps the file open (lsof), and restart it. A running backup or export is normal.',
    );
  else yield fine('log', `${Math.round(size / 1_024)} KiB`);
}
