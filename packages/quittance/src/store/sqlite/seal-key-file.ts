/** The key for sealed inputs, in a file next to the ledger that only its user may read. */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, copyFileSync, fsyncSync, linkSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { QuittanceError } from '../../base/error.ts';
import { isKeyRing } from '../../ledger/seal.ts';
import { checkPrivateFile } from '../../runtime/own-files.ts';
import { toFileTrouble } from './file-trouble.ts';
import { removeIfPossible, syncFolder, writeAll } from '../files/write-all.ts';

export const sealKeyBytes = 32;

/** May a missing key be created? `sealed`: not for a ledger that was used with a key: a new one would not open what that one sealed. */
export type KeyMaking = 'make' | 'read only' | 'sealed';

/**
 * Reads the key, or creates it on first use. If two processes create it at once, both get the first one. Throws only
 * our own errors.
 */
export function readSealKeyFile(path: string, making: KeyMaking = 'make'): Uint8Array {
  try {
    return readOrMake(path, making);
  } catch (error) {
    throw toFileTrouble(error, `The seal key file ${path} could not be read or created`, path);
  }
}

function readOrMake(path: string, making: KeyMaking): Uint8Array {
  const key = readKey(path);
  if (key !== undefined) return key;
  switch (making) {
    case 'make':
      return makeKey(path);
    case 'read only':
      throw new QuittanceError(
        'config.invalid',
        `There is no seal key file ${path}, and this work does not create one. Name the key of the ledger with ` +
          'QUITTANCE_SEAL_KEY_FILE, or pass it as the option sealKey.',
        { path },
      );
    case 'sealed':
      throw new QuittanceError(
        'config.invalid',
        `There is no seal key file ${path}, and the ledger was used with a key: a new key would not open what that one sealed. ` +
          'Restore the file, or name the key with QUITTANCE_SEAL_KEY_FILE. If it is lost: quittance rotate-key --lost',
        { path },
      );
  }
}

function readKey(path: string): Uint8Array | undefined {
  checkPrivateFile({ path, what: 'seal key', secret: true });
  let key: Buffer;
  try {
    key = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  if (isKeyRing(key)) return new Uint8Array(key);
  throw new QuittanceError(
    'config.invalid',
    `The seal key file ${path} must have exactly ${sealKeyBytes} bytes; found ${key.length}. No other ` +
      'key opens what it sealed: restore the file, or pass the key as the option sealKey.',
    { path },
  );
}

function makeKey(path: string): Uint8Array {
  // Written to a draft and linked, so that no process ever reads half a key.
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeKey(draft);
    takeName(draft, path);
    // If a power loss removed the key, what it sealed could never be opened.
    syncFolder(dirname(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    removeIfPossible(draft); // as private as the key itself
  }
  return readKey(path) as Uint8Array;
}

/** Fails if the name is taken. Some file systems have no hard links; there the file is copied. */
function takeName(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP'].includes(code)) throw error;
    copyFileSync(draft, path, constants.COPYFILE_EXCL);
  }
}

function writeKey(path: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeAll(file, randomBytes(sealKeyBytes), 0);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
