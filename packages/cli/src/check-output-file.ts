import type { Stats } from 'node:fs';
import { closeSync, openSync, readdirSync, readlinkSync, readSync, realpathSync, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Context, Given } from './command.ts';
import { ledgerFile } from './find-ledger.ts';
import { credentialFiles } from './server/credentials.ts';
import { exitCodes } from './exit-code.ts';
import { whyRefused } from './system-error.ts';
import { shellWord } from './find-call.ts';
import { UsageError } from './usage-error.ts';

/**
 * Refuses the target of a command before the command reads the ledger. `overwrite`: the command that overwrites an
 * existing file, or undefined if that is allowed. Files of Quittance are never overwritten: they need no proof here.
 */
export function checkOutputFile(
  path: string,
  overwrite: string | undefined,
  given: Given,
  context: Context,
): void {
  const folder = dirname(path);
  refuseOwnFile(path, given, context);
  try {
    // A file in place of the folder is refused too.
    statSync(`${folder}/.`);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === true)
      throw new UsageError(`${path} is a folder. Name a file.`, [
        `name a file in it, such as ${shellWord(`${path}/out`)}`,
      ]);
    if (found !== undefined && overwrite !== undefined)
      throw new UsageError(`${path} already exists.`, [overwrite]);
  } catch (error) {
    const why = whyRefused(error);
    if (why === undefined) throw error;
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new UsageError(
      `Cannot write ${path}: ${isMissing ? `there is no folder ${folder}` : why}.`,
      isMissing ? [`mkdir -p ${shellWord(folder)}`] : ['name a file in another folder'],
      exitCodes.broken,
    );
  }
}

/**
 * Refuses a target that is a ledger or belongs to one: any ledger, not only that of the command. The real path counts,
 * and for the ledger of the command also the file itself, under any name.
 */
export function refuseOwnFile(path: string, given: Given, context: Context): void {
  const target = realPathOf(path);
  if (!isOwnFile(target, context) && !isPartOfLedger(target) && !isFileOfLedger(path, given, context)) return;
  throw new UsageError(
    `${path} belongs to a ledger or to Quittance itself. No command writes its output there.`,
    ['name a file in another folder'],
    exitCodes.bad,
  );
}

/** The path without links. What does not exist yet is named by its parent. */
function realPathOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const folder = dirname(path);
    const linked = linkOf(path);
    if (linked !== undefined) return realPathOf(resolve(folder, linked));
    return folder === path ? path : join(realPathOf(folder), basename(path));
  }
}

/** A link to a file that does not exist yet: a write would make that file. */
function linkOf(path: string): string | undefined {
  try {
    const linked = readlinkSync(path);
    return linked === path ? undefined : linked;
  } catch {
    return undefined;
  }
}

/** Is it in `.quittance`, of a project or of the user, or in the folder with the stored sign-ins? */
function isOwnFile(target: string, context: Context): boolean {
  const { HOME, USERPROFILE, XDG_CONFIG_HOME } = context.env;
  // The environment can name another home, so that of the system counts too.
  const homes = [HOME, USERPROFILE, homedir(), systemHome()].flatMap((home) => (home ? [home] : []));
  const own = [
    ...homes.map((home) => join(home, '.config', 'quittance')),
    ...(XDG_CONFIG_HOME ? [join(XDG_CONFIG_HOME, 'quittance')] : []),
    ...credentialFiles(context.env),
  ];
  return (
    target.split(/[\\/]/).includes('.quittance') ||
    own.some((folder) => `${target}/`.startsWith(`${realPathOf(folder)}/`))
  );
}

function systemHome(): string | undefined {
  try {
    return userInfo().homedir;
  } catch {
    return undefined; // a user id without an entry, as in some containers
  }
}

/** Is it, or a folder above it, a database, or named as the files next to one: `ledger.db.key`, `ledger.db-wal`? */
function isPartOfLedger(target: string): boolean {
  for (let path = target; dirname(path) !== path; path = dirname(path)) {
    const name = basename(path);
    const ends = [...name.matchAll(/[.-]/g)].map(({ index }) => index);
    for (const end of [...ends.filter((index) => index > 0), name.length])
      if (isDatabase(join(dirname(path), name.slice(0, end)))) return true;
  }
  return false;
}

const databaseStart = Buffer.from('SQLite format 3\0');

function isDatabase(path: string): boolean {
  if (statOf(path)?.isFile() !== true) return false;
  const start = Buffer.alloc(databaseStart.length);
  const file = openSync(path, 'r');
  try {
    readSync(file, start, 0, start.length, 0);
  } finally {
    closeSync(file);
  }
  return start.equals(databaseStart);
}

/** Is it another name (a hard link) of a file of the ledger, or of a key that the environment names? */
function isFileOfLedger(path: string, given: Given, context: Context): boolean {
  const found = statOf(path);
  if (found === undefined) return false;
  const ledger = findFile(given, context);
  const companions =
    ledger === undefined
      ? []
      : readdirSync(dirname(ledger))
          .filter((name) => name.startsWith(basename(ledger)))
          .map((name) => join(dirname(ledger), name));
  return [...companions, context.env['QUITTANCE_SEAL_KEY_FILE'], given.text('seal-key-file')].some((own) => {
    const other = own === undefined || own === '' ? undefined : statOf(own);
    return other !== undefined && other.ino === found.ino && other.dev === found.dev;
  });
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // its folder is a file, or its name is too long: the write says so
  }
}

function findFile(given: Given, context: Context): string | undefined {
  try {
    return ledgerFile(context.ledgerUrl(given));
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}
