/** Opens a ledger file and checks that it is one, or throws an error that says what to do. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { isQuittanceError, QuittanceError } from '../../base/error.ts';
import { whenFree } from './backoff.ts';
import type { Database } from './database.ts';
import { isMissing, openDatabase, prepareRow, prepareValue } from './database.ts';
import type { LastEntry } from './last-entry.ts';
import { lastEntryPath, readLastEntry } from './last-entry.ts';
import { openToRead } from './open-to-read.ts';
import { lookAtSchema, prepareSchema } from './schema.ts';

/** The name of a copy that is being made. Its artifacts are already next to the file that it becomes. */
export const draftSuffix = '.copying';

/** `mayLoseTail`: the host chose commits that a power loss may drop, so the note of the last entry may be ahead. */
export async function openLedgerFile(
  path: string,
  readOnly: boolean,
  mayLoseTail = false,
): Promise<Database> {
  refuseLostFile(path);
  // The last process to close the file merges its log into it, and locks it meanwhile.
  const database = await whenFree(() => openFile(path, readOnly));
  try {
    await whenFree(() => (readOnly ? lookAtSchema(database, path) : prepareSchema(database, path)));
    if (!readOnly) refusePart(database, path, mayLoseTail);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Is this not the whole ledger? Then nothing may be written: a process would not know what already ran. */
function refusePart(database: Database, path: string, mayLoseTail = false): void {
  refuseWithoutId(database, path);
  refuseLostArtifacts(database, path);
  if (!mayLoseTail) refuseOlder(database, path);
}

function refuseWithoutId(database: Database, path: string): void {
  const id = prepareValue<unknown>(database, 'SELECT ledger_id FROM ledger').get();
  if (typeof id === 'string' && id !== '') return;
  throw new QuittanceError(
    'ledger.damaged',
    `The ledger ${path} has no valid id: another program changed the file, so nothing is written to it. Restore a backup to ` +
      'another path: quittance restore FOLDER NEW.db. `quittance verify` reads the file as it is.',
    { path },
  );
}

/** Why a file that can be read would be refused by a process that makes calls. Undefined if it would not. */
export async function findMissingPart(path: string): Promise<QuittanceError | undefined> {
  let database: Database | undefined;
  try {
    database = await openLedgerFile(path, true);
    refusePart(database, path);
    return undefined;
  } catch (error) {
    return isQuittanceError(error, 'ledger.damaged') ? error : undefined;
  } finally {
    database?.close();
  }
}

function openFile(path: string, readOnly: boolean): Database {
  try {
    return readOnly ? openToRead(path) : openDatabase(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
    const why = readOnly ? 'there is no such file' : 'the file can be neither read nor created';
    throw new QuittanceError(
      'config.invalid',
      `The ledger ${path} cannot be opened: ${why}.`,
      { path },
      error,
    );
  }
}

/**
 * A missing or empty file with side data next to it is a lost ledger, not a new one. A new one would drop spilled results
 * and run effects again. The key alone is not data. The main file is created before the rest, so it is looked for last.
 */
function refuseLostFile(path: string): void {
  const found = [
    { what: 'spilled results', place: `${path}.spill`, holds: holdsFiles },
    { what: 'artifacts', place: `${path}.artifacts`, holds: holdsFiles },
    { what: 'files of its processes', place: `${path}.owners`, holds: holdsFiles },
    { what: 'the place of its last entry', place: lastEntryPath(path), holds: holdsBytes },
    { what: 'lists of calls', place: `${path}.read`, holds: holdsBytes },
    { what: 'a log', place: `${path}-wal`, holds: holdsBytes },
  ].filter(({ place, holds }) => holds(place));
  if (found.length === 0 || holdsBytes(path)) return;
  const places = found.map(({ place }) => quote(place)).join(' ');
  const lost = quote(`${path}.lost`);
  throw new QuittanceError(
    'ledger.damaged',
    `The ledger ${path} is ${existsSync(path) ? 'empty' : 'missing'}, but ${found.map(({ what }) => what).join(' and ')} of a ledger are next to it. ` +
      'Nothing was created, because a new ledger would not know what already ran. Put the file back: quittance restore ' +
      `FOLDER ${path}. To start a new ledger on purpose: mkdir ${lost} && mv ${places} ${lost}`,
    { path },
  );
}

function holdsFiles(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch {
    return false;
  }
}

function holdsBytes(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size > 0;
}

/** A main file that was restored alone names artifacts that no model or person could read. A reader may open it to look. */
function refuseLostArtifacts(database: Database, path: string): void {
  const folder = `${path.endsWith(draftSuffix) ? path.slice(0, -draftSuffix.length) : path}.artifacts`;
  if (prepareValue<number>(database, 'SELECT EXISTS (SELECT 1 FROM artifacts)').get() !== 1) return;
  if (holdsFiles(folder)) return;
  throw new QuittanceError(
    'ledger.damaged',
    `The ledger ${path} has artifacts, but ${folder} is missing or empty: the main file was restored without it. ` +
      'Restore the folder next to the file, or restore a whole backup: quittance restore ' +
      `FOLDER ${path}. To go on without the artifacts: mkdir -p ${quote(`${folder}/lost`)}`,
    { path },
  );
}

/**
 * A main file that lacks the entry that was its last one was restored alone, or went on elsewhere from an older copy. Calls
 * are missing in it.
 */
function refuseOlder(database: Database, path: string): void {
  const why = findOlder(database, path);
  if (why === undefined) return;
  const files = [lastEntryPath(path), ...oldTablesOf(path)].map(quote).join(' ');
  throw new QuittanceError(
    'ledger.damaged',
    `The ledger ${path} is older than the files next to it, or a copy that went on elsewhere: ${lastEntryPath(path)} was made from ${why}. ` +
      'It was replaced or restored without them, and calls that ran since then could run again. Put the newest file back, ' +
      `or restore a whole backup to another path: quittance restore FOLDER NEW.db. To go on with this file on purpose: rm -f ${files}`,
    { path },
  );
}

/** The noted end of the ledger, in words, if it is missing now. Undefined if the ledger has it. */
export function findOlder(database: Database, path: string): string | undefined {
  // Read first: the ledger may grow meanwhile.
  const seen = readLastEntry(path) ?? readProgress(`${path}.read`);
  if (seen === undefined || seen.ledgerId !== prepareValue(database, 'SELECT ledger_id FROM ledger').get())
    return undefined;
  const end = prepareValue<number>(database, 'SELECT coalesce(max(position), 0) FROM entries').get() ?? 0;
  if (seen.position > end) return `entry ${seen.position}, and the ledger ends at ${end}`;
  const hash = prepareValue<string>(database, 'SELECT hash FROM entries WHERE position = ?').get(
    seen.position,
  );
  const removals = prepareValue<number>(database, 'SELECT removals FROM ledger').get() ?? 0;
  // An entry may have been removed with its session.
  const isThere = seen.position === 0 || hash === seen.hash || (hash === undefined && removals > 0);
  return isThere ? undefined : `another entry ${seen.position}`;
}

/** Earlier versions kept the lists in a file of their own, which says how far they were. */
export const oldTablesOf = (path: string): readonly string[] =>
  ['.read', '.read-wal', '.read-shm'].map((end) => path + end);

function readProgress(path: string): LastEntry | undefined {
  if (!existsSync(path)) return undefined;
  let tables: Database | undefined;
  try {
    tables = openToRead(path);
    const found = prepareRow<LastEntry>(
      tables,
      'SELECT ledger_id AS ledgerId, position, hash FROM progress',
    ).get();
    return found !== undefined && Number.isSafeInteger(found.position) ? found : undefined;
  } catch {
    return undefined;
  } finally {
    tables?.close();
  }
}

const quote = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;
