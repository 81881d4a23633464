/**
 * The runtime's own files: collects them, and updates the check of calls after a reload and after `protectFiles`. Also
 * refuses secrets that other users could read or replace, and resolves links in paths.
 */
import { checkKeys } from '../base/check-keys.ts';
import {
  lstatSync,
  readdirSync,
  statSync,
  existsSync,
  readFileSync,
  realpathSync,
  readlinkSync,
} from 'node:fs';
import { homedir, platform, userInfo } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { QuittanceError } from '../base/error.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import type { ComposedRules } from '../policy/language/composed-rules.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import type { JudgeOwnFiles } from '../policy/own-files/judge-own-files.ts';
import { protectOwnFiles } from '../policy/own-files/judge-own-files.ts';
import type { OwnFile, OwnFilesWorld } from '../policy/own-files/own-file.ts';
import { describeOwnFile } from '../policy/own-files/own-file.ts';
import { findExposures } from '../policy/own-files/find-exposures.ts';
import type { OnTrouble } from './telemetry.ts';
import { fileURLToPath } from 'node:url';
import type { Stats } from 'node:fs';
import nodePath from 'node:path';

/** Files of the host that calls must not touch. A folder includes everything in it. */
export type ProtectedFiles = {
  /** No call may read or write these, such as a key that the host reads itself. */
  readonly sealed?: readonly string[];
  /** Calls may read but not write these, such as the module that creates the runtime. */
  readonly readOnly?: readonly string[];
};

export type OwnFiles = {
  /** The check for the files known now. */
  readonly judge: () => JudgeOwnFiles;
  readonly list: () => readonly OwnFile[];
  readonly add: (files: ProtectedFiles) => void;
};

export function createOwnFiles(
  ledger: Pick<OpenLedger, 'ownFiles'>,
  contracts: Contracts | undefined,
  given: ProtectedFiles | undefined,
  onTrouble: OnTrouble,
): OwnFiles {
  const fixed: OwnFile[] = [
    ...(ledger.ownFiles ?? []),
    ...toHostFiles(given),
    ...packageFiles(),
    ...credentialFiles(),
  ];
  const world = createOwnFilesWorld(contracts);
  let read: { readonly from: Contracts['policy'] | undefined; readonly count: number } | undefined;
  let judge: JudgeOwnFiles | undefined;
  const reply = new Set<string>();
  const list = (): readonly OwnFile[] => [
    ...fixed.map(toPlaced),
    ...(contracts?.files ?? []).map((path) => toPlaced(readOnly(path, 'contract_file'))),
  ];
  return {
    judge: () => {
      const from = contracts?.policy;
      if (judge === undefined || read?.from !== from || read?.count !== fixed.length) {
        read = { from, count: fixed.length };
        judge = protectOwnFiles(list(), world);
        if (from !== undefined) warn(from.composed, list(), world, reply, onTrouble);
      }
      return judge;
    },
    list,
    add: (files) => {
      checkKeys('runtime.protectFiles', files, ['sealed', 'readOnly']);
      fixed.push(...toHostFiles(files));
    },
  };
}

function warn(
  composed: ComposedRules,
  files: readonly OwnFile[],
  world: OwnFilesWorld,
  reply: Set<string>,
  onTrouble: OnTrouble,
): void {
  for (const { ruleId, area, file } of findExposures(composed, files, world)) {
    const key = JSON.stringify([ruleId, area, file.path]);
    if (reply.has(key)) continue;
    reply.add(key);
    onTrouble({
      type: 'files.exposed',
      ruleId,
      area,
      path: file.path,
      message:
        `Rule ${ruleId} allows ${JSON.stringify(area)}, which holds ${describeOwnFile(file)} (${file.path}). ` +
        'Calls that name it are refused, but a program that searches the folder can reach it. Move it out of the ' +
        "agent's folder, or take it away with not_within.",
    });
  }
}

/** Rules compare paths with slashes, on every system. */
const toPlaced = (file: OwnFile): OwnFile => ({ ...file, path: toPlace(file.path) });

const readOnly = (path: string, kind: OwnFile['kind']): OwnFile => ({
  path: resolve(path),
  kind,
  access: 'read_only',
  withCompanions: false,
});

function toHostFiles(given: ProtectedFiles | undefined): readonly OwnFile[] {
  if (given === undefined) return [];
  const { sealed = [], readOnly: readable = [], ...others } = given;
  const lists = [sealed, readable];
  if (Object.keys(others).length > 0 || !lists.every((list) => Array.isArray(list) && list.every(isPath)))
    throw new QuittanceError(
      'config.invalid',
      'protectedFiles takes two lists of paths: { sealed: [...], readOnly: [...] }.',
    );
  return [
    ...sealed.map((path) => ({ ...readOnly(path, 'host_file'), access: 'sealed' as const })),
    ...readable.map((path) => readOnly(path, 'runtime_module')),
  ];
}

const isPath = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';

/** The code of this package and of the other packages of Quittance that are installed next to it. */
const packageFiles = (): readonly OwnFile[] =>
  packageFolders(import.meta.url).map((path) => readOnly(path, 'runtime_package'));

/**
 * The folders of the command line: credentials, sign-ins at MCP servers, records of installations. A call must neither
 * read nor make them.
 */
function credentialFiles(): readonly OwnFile[] {
  return [join(homedir(), '.quittance'), join(homedir(), '.config', 'quittance')].map((path) => ({
    ...readOnly(path, 'credentials'),
    access: 'sealed' as const,
  }));
}

/** Limit for listing a folder of this package, far above its size. */
const mostEntries = 20_000;

function createOwnFilesWorld(contracts: Contracts | undefined): OwnFilesWorld {
  const packages = new Map<string, readonly string[]>();
  return {
    realPath,
    isLink: (path) => {
      try {
        return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
      } catch {
        return true; // treat an unreadable path as a link, so that it is resolved
      }
    },
    sharedInode: (path) => {
      const found = statOf(path);
      return found !== undefined && found.isFile() && found.nlink > 1n
        ? `${found.dev}:${found.ino}`
        : undefined;
    },
    inodesOf: (file) => {
      const known = packages.get(file.path);
      if (known !== undefined) return known;
      const inodes = filesOf(file).flatMap((path) => inodesBelow(path));
      // The installed package never changes, so the result can be cached.
      if (file.kind === 'runtime_package') packages.set(file.path, inodes);
      return inodes;
    },
    workingDirectories: () => {
      const declared = contracts?.workflowHost.workingDirectory;
      const here = resolve('.');
      return declared === undefined || resolve(declared) === here ? [here] : [resolve(declared), here];
    },
    homeDirectory: homedir(),
  };
}

function filesOf({ path, withCompanions }: OwnFile): readonly string[] {
  if (!withCompanions) return [path];
  const [folder, name] = [dirname(path), basename(path)];
  return list(folder)
    .filter((entry) => entry === name || entry.startsWith(`${name}.`) || entry.startsWith(`${name}-`))
    .map((entry) => join(folder, entry));
}

function inodesBelow(path: string): readonly string[] {
  const inodes: string[] = [];
  const rest = [path];
  for (let at = rest.pop(); at !== undefined && inodes.length < mostEntries; at = rest.pop()) {
    const found = statOf(at);
    if (found === undefined) continue;
    if (found.isDirectory()) for (const entry of list(at)) rest.push(join(at, entry));
    else inodes.push(`${found.dev}:${found.ino}`);
  }
  return inodes;
}

const statOf = (path: string): ReturnType<typeof statBig> | undefined => {
  try {
    return statBig(path);
  } catch {
    return undefined;
  }
};
const statBig = (path: string) => statSync(path, { bigint: true, throwIfNoEntry: false });

const list = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

/**
 * The folders of these packages, from the URL of a module of this one. If a host bundled the code, only the bundle file.
 * Empty if the module is not from a file.
 */
export function packageFolders(moduleUrl: string): readonly string[] {
  if (!moduleUrl.startsWith('file:')) return [];
  const own = ownFolder(moduleUrl);
  if (own === undefined) return [fileURLToPath(moduleUrl)];
  const above = dirname(own);
  // pnpm keeps each package in a folder of its own.
  const [project = '', inStore] = own.split(join(sep, 'node_modules', '.pnpm', sep));
  const store = join(project, 'node_modules', '.pnpm');
  const others =
    inStore !== undefined
      ? [
          ...list(store).filter((name) => name.startsWith('@quittance+')),
          '../quittance',
          '../@quittance',
        ].map((name) => join(store, name))
      : basename(above) === 'node_modules'
        ? [join(above, '@quittance')]
        : // A checkout, or a link to one.
          list(above)
            .map((name) => join(above, name))
            .filter((folder) => String(nameOf(join(folder, 'package.json'))).startsWith('@quittance/'));
  return [own, ...others];
}

/** Undefined if a host has bundled the code: then the next package.json above it belongs to another package. */
function ownFolder(moduleUrl: string): string | undefined {
  let folder = dirname(fileURLToPath(moduleUrl));
  while (!existsSync(join(folder, 'package.json'))) {
    if (dirname(folder) === folder) return undefined;
    folder = dirname(folder);
  }
  return nameOf(join(folder, 'package.json')) === 'quittance' ? folder : undefined;
}

/** The templates of this package. Undefined if a host has bundled the code. */
export function templatesFolder(): string | undefined {
  const folder = import.meta.url.startsWith('file:') ? ownFolder(import.meta.url) : undefined;
  return folder === undefined ? undefined : join(folder, 'templates');
}

function nameOf(manifest: string): unknown {
  try {
    // The file may contain anything. Only its name is read, and only compared.
    return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly name?: unknown } | null)?.name;
  } catch {
    return undefined;
  }
}

type PrivateFile = {
  readonly path: string;
  /** The kind of file for the message: "seal key". */
  readonly what: string;
  /** True if others must not be able to read it. */
  readonly secret: boolean;
};

/**
 * Refuses a key or token file that other users could read or replace, or whose folder they could. Throws `config.invalid`
 * with the command that fixes it. A missing file passes. Windows is not checked, because its modes carry no information.
 */
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

/** Maximum number of links without a target followed in a row. Operating systems have the same limit. */
const mostLinks = 40;

/** The functions of a system that resolve paths, so that tests can use those of another system. */
export type PathSystem = Pick<typeof nodePath, 'isAbsolute' | 'join' | 'parse' | 'resolve' | 'sep'> & {
  readonly realpath: (path: string) => string;
  readonly readlink: (path: string) => string;
  /** True if the path exists, following links. */
  readonly leadsSomewhere: (path: string) => boolean;
  /** True if the path itself exists, perhaps as a link without a target. */
  readonly isThere: (path: string) => boolean;
};

const thisSystem: PathSystem = {
  ...nodePath,
  realpath: realpathSync.native,
  readlink: (path) => readlinkSync(path),
  // These do not throw for missing files, the most common case, because an exception is slow. If they cannot tell, they
  // return true and the next step decides.
  leadsSomewhere: (path) =>
    attempt(() => (statSync(path, { throwIfNoEntry: false }) === undefined ? '' : path)) !== '',
  isThere: (path) =>
    attempt(() => (lstatSync(path, { throwIfNoEntry: false }) === undefined ? '' : path)) !== '',
};

/**
 * Resolves every link in the longest existing ancestor and appends the rest as written. A link with a missing
 * target exists, because a write to it creates the target. Returns a path that it cannot resolve unchanged,
 * and never throws. The answer has slashes, also on Windows, and drives are capital letters.
 */
export function realPath(absolutePath: string, system: PathSystem = thisSystem): string {
  if (!system.isAbsolute(absolutePath)) return absolutePath;
  const real =
    (system.leadsSomewhere(absolutePath) ? attempt(() => system.realpath(absolutePath)) : undefined) ??
    resolveParts(system.resolve(absolutePath), mostLinks, system);
  return toPlace(real, system.sep);
}

/** A path as rules compare it: on Windows with slashes, a capital drive, and without the prefix of long paths. */
export function toPlace(path: string, separator: string = nodePath.sep): string {
  if (separator !== '\\') return path;
  return path
    .replaceAll('\\', '/')
    .replace(/^\/\/[?.]\/UNC\//i, '//')
    .replace(/^\/\/[?.]\/(?=[a-z]:)/i, '')
    .replace(/^[a-z]:/, (drive) => drive.toUpperCase());
}

/** Resolves component by component from the root, until one is missing. */
function resolveParts(path: string, linksLeft: number, system: PathSystem): string {
  const { join, parse, resolve, sep, realpath, readlink, isThere } = system;
  const { root } = parse(path);
  const parts = path.slice(root.length).split(sep);
  let reached = root;
  for (const [index, part] of parts.entries()) {
    const next = join(reached, part);
    if (!isThere(next)) return join(next, ...parts.slice(index + 1));
    const real = attempt(() => realpath(next));
    if (real === undefined) {
      const target = attempt(() => readlink(next));
      if (target === undefined || linksLeft === 0) return join(next, ...parts.slice(index + 1));
      return resolveParts(resolve(reached, target, ...parts.slice(index + 1)), linksLeft - 1, system);
    }
    reached = real;
  }
  return reached;
}

function attempt<Found>(read: () => Found): Found | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
