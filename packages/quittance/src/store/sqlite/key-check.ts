/**
 * Does a process have the seal key of the ledger? The file stores a check of the key, as the PostgreSQL ledger does. Without
 * it, a process with another key would find that inputs of held calls do not open, and end those calls.
 */
import { existsSync } from 'node:fs';
import { QuittanceError } from '../../base/error.ts';
import { checkOfKeys, passKeyCheck, createSeal } from '../../ledger/seal.ts';
import { sealContext } from '../../runtime/recorded-input.ts';
import type { Database } from './database.ts';
import { openDatabase, prepareRow, prepareValue, fromSqlText } from './database.ts';
import { readSealKeyFile } from './seal-key-file.ts';

/** Is there something that only the key of the ledger opens, or calls that were made with it? */
export const hasKey = (database: Database): boolean =>
  readKeyCheck(database) !== undefined || hasSealed(database);

/** The same for a ledger that is not open. A file that cannot be read is reported when it is opened. */
export function fileHasKey(path: string): boolean {
  if (!existsSync(path)) return false;
  let database: Database | undefined;
  try {
    database = openDatabase(path, { readOnly: true, mustExist: true });
    const lacksTable =
      prepareValue(database, `SELECT 1 FROM sqlite_schema WHERE name = 'key_check'`).get() === undefined;
    return lacksTable ? hasSealed(database) : hasKey(database);
  } catch {
    return false;
  } finally {
    database?.close();
  }
}

const hasSealed = (database: Database): boolean =>
  prepareValue<number>(database, 'SELECT EXISTS (SELECT 1 FROM sealed)').get() === 1;

/** Undefined if no process had a key yet, and for ledgers of earlier versions. */
export const readKeyCheck = (database: Database): string | undefined =>
  prepareValue<string>(database, 'SELECT CAST(text AS TEXT) FROM key_check LIMIT 1').get();

export const findLedgerId = (database: Database): string =>
  prepareValue<string>(database, 'SELECT ledger_id FROM ledger').get() ?? '';

/** Is this the key of the ledger? Undefined if the ledger cannot tell. */
export function isKeyOf(database: Database, key: Uint8Array): boolean | undefined {
  const check = readKeyCheck(database);
  return check === undefined ? opensSealed(database, key) : passKeyCheck(key, findLedgerId(database), check);
}

/** Throws for another key than that of the ledger. */
export function requireKey(database: Database, path: string, key: Uint8Array): void {
  if (isKeyOf(database, key) !== false) return;
  throw new QuittanceError(
    'config.invalid',
    `This is not the seal key of the ledger ${path}: other processes used another one. Nothing was changed, and held ` +
      `calls stay held. Restore the file ${path}.key from your secrets, or name the key with QUITTANCE_SEAL_KEY_FILE. ` +
      'If it is lost: quittance rotate-key --lost',
    { path },
  );
}

/**
 * Checks the key that a process came with, or the file next to the ledger. The first key of a ledger leaves its check. A file that
 * cannot be read is reported when the key is needed.
 */
export function checkOpeningKey(database: Database, path: string, given: Uint8Array | undefined): void {
  const key = given ?? tryReadKey(`${path}.key`);
  if (key === undefined) return;
  requireKey(database, path, key);
  if (readKeyCheck(database) === undefined) storeKeyCheck(database, key, true);
}

function tryReadKey(path: string): Uint8Array | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return readSealKeyFile(path, 'read only');
  } catch {
    return undefined;
  }
}

/** Stores the check of the key. `onlyFirst`: unless there is one. */
export function storeKeyCheck(database: Database, key: Uint8Array, onlyFirst = false): void {
  database.transaction(() => {
    if (onlyFirst && readKeyCheck(database) !== undefined) return;
    prepareRow<never>(database, 'DELETE FROM key_check').run();
    prepareRow<never>(database, 'INSERT INTO key_check VALUES (?)').run(
      checkOfKeys(key, findLedgerId(database)),
    );
  }, 'BEGIN IMMEDIATE');
}

/** Enough to find another key. A single input may have been changed. */
const most = 100;

/** Undefined if nothing is sealed. */
function opensSealed(database: Database, key: Uint8Array): boolean | undefined {
  const rows = prepareRow<{ name: string; call: string; text: string }>(
    database,
    `SELECT name, call, text FROM sealed JOIN sessions USING (session) LIMIT ${most}`,
  ).all();
  const seal = createSeal(key);
  const opens = ({ name, call, text }: (typeof rows)[number]): boolean => {
    try {
      seal.open(text, sealContext(fromSqlText(name), fromSqlText(call)));
      return true;
    } catch {
      return false;
    }
  };
  return rows.length === 0 ? undefined : rows.some(opens);
}
