/** Collects the runtime's own files and updates the check after a reload and after `protectFiles`. */
import { checkKeys } from '../../base/check-keys.ts';
import { lstatSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { QuittanceError } from '../../base/error.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { ComposedRules } from '../../policy/language/composed-rules.ts';
import type { Contracts } from '../../policy/judge/contracts.ts';
import type { JudgeOwnFiles } from '../../policy/own-files/judge-own-files.ts';
import { protectOwnFiles } from '../../policy/own-files/judge-own-files.ts';
import type { OwnFile, OwnFilesWorld } from '../../policy/own-files/own-file.ts';
import { describeOwnFile } from '../../policy/own-files/own-file.ts';
import { findExposures } from '../../policy/own-files/find-exposures.ts';
import { packageFolder, templatesFolder } from './package-folder.ts';
import { realPath, toPlace } from './real-path.ts';
import type { OnTrouble } from '../host/runtime-trouble.ts';

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
  ledger: Pick<Ledger, 'ownFiles'>,
  contracts: Contracts | undefined,
  given: ProtectedFiles | undefined,
  tell: OnTrouble,
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
        if (from !== undefined) warn(from.composed, list(), world, reply, tell);
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
  tell: OnTrouble,
): void {
  for (const { ruleId, area, file } of findExposures(composed, files, world)) {
    const key = JSON.stringify([ruleId, area, file.path]);
    if (reply.has(key)) continue;
    reply.add(key);
    tell({
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

/** The code, and the templates if they are in another folder, as in a checkout. */
function packageFiles(): readonly OwnFile[] {
  const code = packageFolder(import.meta.url);
  const templates = templatesFolder(import.meta.url);
  return [code, code !== undefined && templates?.startsWith(code + sep) === true ? undefined : templates]
    .filter((path) => path !== undefined)
    .map((path) => readOnly(path, 'runtime_package'));
}

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

/** Enough for any folder of ours. Stops a walk that would not end. */
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
      const found = look(path);
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
    const found = look(at);
    if (found === undefined) continue;
    if (found.isDirectory()) for (const entry of list(at)) rest.push(join(at, entry));
    else inodes.push(`${found.dev}:${found.ino}`);
  }
  return inodes;
}

const look = (path: string): ReturnType<typeof statBig> | undefined => {
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
