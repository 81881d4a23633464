/** Makes one random change to a copy of a ledger, and checks that `verify` finds it and `rebuild` survives it. */
import { hash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isQuittanceError } from 'quittance';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import type { Database } from '../../packages/quittance/src/store/sqlite/database.ts';
import { openImage } from '../../packages/quittance/src/store/sqlite/database.ts';
import { openSqliteLedger } from '../../packages/quittance/src/store/sqlite/open-sqlite-ledger.ts';
import type { EditKind, Files } from './edit.ts';
import { createRandom, editAtRandom, editKinds } from './edit.ts';

export type Trial = {
  readonly kind: EditKind;
  readonly what: string;
  /** Does any written data read differently now? */
  readonly changed: boolean;
  readonly found: boolean;
  /** An unexpected exception. */
  readonly crash: string | undefined;
  /** Did verify change a file? */
  readonly wrote: boolean;
};

const options = {
  signal: new AbortController().signal,
  startProgress: () => ({ step: () => undefined, done: () => undefined }),
};

/** `sound`: a folder with a ledger named ledger.db. Returns undefined if the database refused the change. */
export async function tryEdit(
  sound: string,
  scratch: string,
  seed: number,
  { rebuilds = true }: { readonly rebuilds?: boolean } = {},
): Promise<Trial | undefined> {
  const random = createRandom(seed);
  const folder = join(scratch, `copy-${seed}`);
  cpSync(sound, folder, { recursive: true });
  const files: Files = { folder, ledger: join(folder, 'ledger.db') };
  try {
    const kind = editKinds[random(editKinds.length)] ?? 'byte';
    const what = editAtRandom(files, kind, random);
    if (what === undefined) return undefined;
    const changed = dump(files) !== dump(filesIn(sound));
    const before = digest(folder);
    const { found, crash } = await verify(files.ledger);
    const wrote = digest(folder) !== before;
    const crashed = crash ?? (rebuilds ? await rebuild(files.ledger) : undefined);
    return { kind, what, changed, found, crash: crashed, wrote };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const filesIn = (folder: string): Files => ({
  folder,
  ledger: join(folder, 'ledger.db'),
});

async function verify(path: string): Promise<{ found: boolean; crash: string | undefined }> {
  let problems = 0;
  const note = async (): Promise<void> => void problems++;
  try {
    const ledger = await openSqliteLedger(path, { readOnly: true });
    try {
      await verifyLedger(ledger, undefined, { ...options, note }, async () => void problems++);
    } finally {
      await ledger.close();
    }
    return { found: problems > 0, crash: undefined };
  } catch (error) {
    // A refusal with one of our errors counts as found; a crash does not.
    if (isQuittanceError(error)) return { found: true, crash: undefined };
    return { found: false, crash: `verify: ${textOf(error)}` };
  }
}

async function rebuild(path: string): Promise<string | undefined> {
  try {
    const ledger = await openSqliteLedger(path, { spillBytes: 4_096 });
    try {
      await ledger.rebuild();
    } finally {
      await ledger.close();
    }
    return undefined;
  } catch (error) {
    return isQuittanceError(error) ? undefined : `rebuild: ${textOf(error)}`;
  }
}

const textOf = (error: unknown): string =>
  error instanceof Error
    ? `${error.name}: ${error.message} ${String(error.stack).split('\n').slice(1, 4).join(' ')}`
    : String(error);

/** Everything that can be read, except the positions of readers, which no entry records. */
function dump({ folder, ledger }: Files): string {
  const texts = [ledger].map((path) => {
    if (!existsSync(path)) return 'gone';
    try {
      const database = openImage(readFileSync(path).fill(1, 18, 20));
      try {
        return dumpTables(database);
      } finally {
        database.close();
      }
    } catch (error) {
      return `unreadable ${String(error)} ${hash('sha256', readFileSync(path))}`;
    }
  });
  const others = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(
      (entry) =>
        entry.isFile() &&
        !/ledger\.db(-wal|-shm)?$|\.spill|\.owners/.test(join(entry.parentPath, entry.name)),
    )
    .map((entry) => `${entry.name} ${hash('sha256', readFileSync(join(entry.parentPath, entry.name)))}`)
    .sort();
  return JSON.stringify([...texts, others]);
}

function dumpTables(database: Database): string {
  const schema = database
    .prepare<{ name: string; type: string }>(
      'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name',
    )
    .all();
  const rows = schema
    .filter(({ type, name }) => type === 'table' && name !== 'cursors')
    .map(({ name }) => {
      const columns = database.prepareValue<string>(`SELECT name FROM pragma_table_info('${name}')`).all();
      const list = columns.map((column) => `typeof(${column}) || quote(${column})`).join(` || ',' || `);
      // A tally that counts nothing says nothing. Whether there is one depends on how the tables were filled.
      const where =
        name === 'tallies' ? ' WHERE NOT (calls IS 0 AND unresolved IS 0 AND cost_micros IS 0)' : '';
      return database.prepareValue<string>(`SELECT ${list} FROM ${name} NOT INDEXED${where}`).all().sort();
    });
  return JSON.stringify([schema, rows, database.pragma('user_version'), database.pragma('application_id')]);
}

/** Digest of every file except the locks and shared memory that SQLite and owners need. */
function digest(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('-shm'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  return JSON.stringify(files.map((path) => [path, hash('sha256', readFileSync(path))]));
}

export function makeScratch(folder: string): string {
  mkdirSync(folder, { recursive: true });
  return folder;
}
