/** Opens a ledger file and checks that it is one, or throws an error that says what to do. */
import { existsSync, readdirSync } from 'node:fs';
import { QuittanceError } from '../../base/error.ts';
import { whenFree } from './backoff.ts';
import type { Database } from './database.ts';
import { isMissing, openDatabase, prepareValue } from './database.ts';
import { openToRead } from './open-to-read.ts';
import { lookAtSchema, prepareSchema } from './schema.ts';

/** The name of a copy that is being made. Its artifacts are already next to the file that it becomes. */
export const draftSuffix = '.copying';

export async function openLedgerFile(path: string, readOnly: boolean): Promise<Database> {
  if (!readOnly) refuseLostFile(path);
  // The last process to close the file merges its log into it, and locks it meanwhile.
  const database = await whenFree(() => openFile(path, readOnly));
  try {
    await whenFree(() => (readOnly ? lookAtSchema(database, path) : prepareSchema(database, path)));
    if (!readOnly) refuseLostArtifacts(database, path);
    return database;
  } catch (error) {
    database.close();
    throw error;
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
 * A missing file with side data next to it is a lost ledger, not a new one. A new one would drop spilled results and run
 * effects again. The key alone is not data. The main file is created before the rest, so it is looked for last.
 */
function refuseLostFile(path: string): void {
  const found = [
    { what: 'spilled results', folder: `${path}.spill` },
    { what: 'artifacts', folder: `${path}.artifacts` },
    { what: 'files of its processes', folder: `${path}.owners` },
  ].filter(({ folder }) => holdsFiles(folder));
  if (found.length === 0 || existsSync(path)) return;
  const folders = found.map(({ folder }) => `'${folder.replaceAll("'", "'\\''")}'`).join(' ');
  const lost = `'${`${path}.lost`.replaceAll("'", "'\\''")}'`;
  throw new QuittanceError(
    'ledger.damaged',
    `The ledger ${path} is missing, but ${found.map(({ what }) => what).join(' and ')} of a ledger are next to it. ` +
      'Nothing was created, because a new ledger would not know what already ran. Put the file back: quittance restore ' +
      `FOLDER ${path}. To start a new ledger on purpose: mkdir ${lost} && mv ${folders} ${lost}`,
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

/** A main file that was restored alone names artifacts that no model or person could read. A reader may open it to look. */
function refuseLostArtifacts(database: Database, path: string): void {
  const folder = `${path.endsWith(draftSuffix) ? path.slice(0, -draftSuffix.length) : path}.artifacts`;
  if (prepareValue<number>(database, 'SELECT EXISTS (SELECT 1 FROM artifacts)').get() !== 1) return;
  if (holdsFiles(folder)) return;
  throw new QuittanceError(
    'ledger.damaged',
    `The ledger ${path} has artifacts, but ${folder} is missing or empty: the main file was restored without it. ` +
      'Restore the folder next to the file, or restore a whole backup: quittance restore ' +
      `FOLDER ${path}. To go on without the artifacts: mkdir -p '${folder.replaceAll("'", "'\\''")}/lost'`,
    { path },
  );
}
