/**
 * The runtime's own files. No call may reach them, whatever the contracts say.
 *
 * No call may read or write a `sealed` file: the ledger, its key, its tokens, credentials of the command line. Calls may read a `read_only` file but
 * not write it: contract files in force, the runtime package, the module that creates the runtime.
 */
import { foldName } from '../../base/fold-name.ts';
import { readBase } from '../sandbox/found-path.ts';

export type OwnFile = {
  /** Absolute. A folder includes everything in it. */
  readonly path: string;
  readonly kind:
    | 'ledger'
    | 'credentials'
    | 'contract_file'
    | 'runtime_module'
    | 'runtime_package'
    | 'host_file';
  readonly access: 'sealed' | 'read_only';
  /** Also covers every file whose name continues with `.` or `-`, such as `ledger.db-wal` and `ledger.db.key`. */
  readonly withCompanions: boolean;
};

/** For people. */
export const describeOwnFile = ({ kind }: OwnFile): string => kinds[kind];

const kinds: Readonly<Record<OwnFile['kind'], string>> = {
  ledger: 'the ledger of this runtime',
  credentials: 'the credentials and settings of the quittance command line',
  contract_file: 'a contract file in force',
  runtime_module: 'the module that creates this runtime',
  runtime_package: 'the code of this runtime',
  host_file: 'a file of the host',
};

/** What the protection needs from the file system and the process. */
export type OwnFilesWorld = {
  /** The path with every link of its longest existing ancestor resolved. */
  readonly realPath: (absolutePath: string) => string;
  /** Is the path itself a symbolic link? */
  readonly isLink: (absolutePath: string) => boolean;
  /** Device and inode of a file that has more than one name (hard links). Undefined for every other path. */
  readonly sharedInode: (absolutePath: string) => string | undefined;
  /** Device and inode of every current file that the path and its companions cover. */
  readonly inodesOf: (file: OwnFile) => readonly string[];
  /** Directories that a relative path may start from. */
  readonly workingDirectories: () => readonly string[];
  readonly homeDirectory: string | undefined;
};

/** Suffixes of files that the runtime writes next to a ledger, for patterns such as `*.key`. */
const companionSuffixes = [
  '-wal',
  '-shm',
  '-journal',
  '.key',
  '.tokens',
  '.tokens.lock',
  '.sign-ins',
  '.sign-ins.lock',
  '.last',
  '.owners',
  '.spill',
  '.artifacts',
  '.schemas',
  '.reviews',
  '.reviews.lock',
  '.gateways',
  '.gateways.lock',
];

/** An own file with the components of its path: as the host spelled it, and with links resolved. */
export type LocatedOwnFile = {
  readonly file: OwnFile;
  readonly paths: readonly OwnFilePath[];
};

export type OwnFilePath = {
  /** Root first, normalized for comparison. */
  readonly parts: readonly string[];
  /** Possible names of the last component, for patterns. */
  readonly names: readonly string[];
};

export function locateOwnFile(file: OwnFile, realPath: (path: string) => string): LocatedOwnFile {
  const places = new Map<string, OwnFilePath>();
  for (const path of [file.path, realPath(file.path)]) {
    const base = readBase(path);
    if (base === undefined || base.parts.length === 0) continue;
    const parts = [base.root, ...base.parts].map(normalizePart);
    const last = parts.at(-1) ?? '';
    const names = file.withCompanions ? [last, ...companionSuffixes.map((suffix) => last + suffix)] : [last];
    places.set(parts.join('/'), { parts, names });
  }
  return { file, paths: [...places.values()] };
}

/**
 * One form for all spellings that some file system treats as the same name: base/fold-name.ts, and what Windows
 * drops: trailing spaces and dots, stream names. On other systems these are different files, which are
 * then protected as well. A false alarm about a name like `LEDGER.DB` does no harm.
 */
export function normalizePart(part: string): string {
  const folded = foldName(part);
  const bare = folded.replace(/(?!^):.*$/s, '').replace(/[. ]+$/, '');
  return bare === '' ? folded : bare;
}
