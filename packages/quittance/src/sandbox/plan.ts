/**
 * What a sandboxed command sees, from the contract's sandbox rules and the runtime's own files. The plan is data: the
 * engine turns it into mounts, and tests read it.
 *
 * 1. The rules of one tool are combined. A folder is writable if every rule with `within` allows it. A path is hidden if
 *    one rule excludes it. A host may be contacted if every rule with `domains` allows it.
 * 2. Only listed folders exist inside. The plan never starts from the whole disk.
 * 3. Own files are never visible, and contract files are never writable, also inside `within`.
 * 4. No folder above such a mount can be renamed. A renamed folder would leave room for a forged one at the old name.
 * 5. A plan that cannot keep these rules is refused with the remedy. The plan is made again for every call, because
 *    rules and files change.
 */
import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { QuittanceError } from '../base/error.ts';
import { quote } from '../base/nearest.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import { createRuleIndex } from '../policy/language/rule-index.ts';
import type { SandboxRule } from '../policy/language/ruleset.ts';
import { describeOwnFile, type OwnFile } from '../policy/own-files/own-file.ts';
import { realPath } from '../runtime/own-files.ts';
import { createAnchors, findLinkIn, type SandboxAnchors } from './anchors.ts';
import {
  checkOwnFile,
  cover,
  exists,
  findSpellings,
  folderToHide,
  hides,
  isFolder,
  isInside,
  isInsideOne,
  orderCovers,
  type SandboxCover,
} from './covers.ts';

/** What the calls of one tool see, and how much they may use. */
export type SandboxPlan = {
  readonly toolName: string;
  /** The rules that configure it. */
  readonly ruleIds: readonly string[];
  /** The folder in which commands start. */
  readonly workingDirectory: string;
  /** Folders of the host that commands may change, outermost first. */
  readonly writable: readonly string[];
  /** Folders of the host that commands may read: those of the system, and the given ones. */
  readonly readOnly: readonly string[];
  /** Links of the system that lead into those folders, such as `/bin`. */
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** Changes inside the folders above, in the order in which they are made: outer before inner. */
  readonly covers: readonly SandboxCover[];
  /**
   * Excluded paths that do not exist, or are links, when the call starts. The kernel cannot cover them. A call that
   * leaves one of them changed fails.
   */
  readonly watched: readonly { readonly path: string; readonly inode: string | undefined }[];
  /** Host patterns: one entry for each rule with domains. Empty: no network. */
  readonly hosts: readonly HostRule[];
  /** The whole environment of a command. */
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: SandboxLimits;
};

export type HostRule = {
  readonly ruleId: string;
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
};

/** How much a call may use. See the page of the executor for what each of them bounds exactly. */
export type SandboxLimits = {
  readonly timeoutMs: number;
  /** Resident memory of all processes of a call together. */
  readonly memoryMb: number;
  /** Processes of a call at a time. */
  readonly processes: number;
  /** Size of one file that a call writes. */
  readonly fileMb: number;
  /** Size of the private `/tmp`, which also holds the home folder, and of `/dev/shm`. */
  readonly scratchMb: number;
  /** Kept bytes of each output stream. */
  readonly outputBytes: number;
};

export const defaultLimits: SandboxLimits = {
  timeoutMs: 120_000,
  memoryMb: 2_048,
  processes: 1_024,
  fileMb: 1_024,
  scratchMb: 256,
  outputBytes: 262_144,
};

export type PlanInput = {
  readonly toolName: string;
  readonly contracts: Contracts;
  readonly ownFiles: readonly OwnFile[];
  /** More folders that commands may read, such as a toolchain in a home folder. */
  readonly readOnly: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The environment of the host, of which a few names are passed on. */
  readonly hostEnvironment: Readonly<Record<string, string | undefined>>;
  readonly homeDirectory: string;
  readonly limits: SandboxLimits;
  /** What earlier plans of the same sandbox know. */
  readonly anchors?: SandboxAnchors;
};

export function planSandbox(input: PlanInput): SandboxPlan {
  const { toolName, contracts, ownFiles, limits, anchors = createAnchors() } = input;
  const named = loadAnchors(anchors, input);
  const rules = findRules(toolName, contracts);
  const place = createPlacer(contracts.workflowHost.workingDirectory, input.homeDirectory);
  const excluded = rules.flatMap((rule) =>
    rule.notWithin.flatMap((text) => {
      const places = place(text);
      return [...places, ...places.flatMap((path) => anchors.firstPlaceOf(path) ?? [])];
    }),
  );
  const writable = findWritable(toolName, rules, place, excluded);
  const { folders: system, links } = findSystemFolders();
  anchors.addWritable(writable);
  for (const path of rules.flatMap(({ within = [] }) => within.map((text) => place(text)[0] ?? text)))
    anchors.check(path, 'The sandbox rules name');
  for (const path of input.readOnly) anchors.check(resolve(path), 'readOnly names');
  for (const file of ownFiles) anchors.check(file.path, `The path of ${describeOwnFile(file)},`);
  const given = input.readOnly.map((path) => checkReadOnly(path, ownFiles, writable));
  const readOnly = [...system, ...given.filter((path) => !isInsideOne(writable, path))];
  const visible = [...writable, ...readOnly];

  for (const file of ownFiles) checkOwnFile(file, writable, system);
  const covers = new Map<string, SandboxCover>();
  const watched = new Map<string, string | undefined>();
  for (const path of excluded.flatMap((each) => findSpellings(each, visible)))
    cover(path, visible, covers, watched);
  for (const file of ownFiles)
    if (file.access === 'read_only') {
      const path = realPath(file.path);
      if (!isInsideOne(writable, path) || covers.has(path)) continue;
      if (exists(path)) covers.set(path, { kind: 'read_only', path });
      else watched.set(path, undefined);
    } else if (file.kind === 'ledger') {
      const folder = folderToHide(file, writable);
      if (folder !== undefined) covers.set(folder, { kind: 'hidden_folder', path: folder });
    } else cover(file.path, visible, covers, watched);
  for (const path of given)
    if (isInsideOne(writable, path) && !covers.has(path)) covers.set(path, { kind: 'read_only', path });
  // A call must not replace a folder that the rules of another tool name.
  for (const path of named)
    if (
      isInsideOne(writable, path) &&
      !writable.includes(path) &&
      !covers.has(path) &&
      isFolder(path) &&
      realPath(path) === path
    )
      covers.set(path, { kind: 'pinned', path });

  const start = contracts.workflowHost.workingDirectory;
  return {
    toolName,
    ruleIds: rules.map(({ id }) => id),
    workingDirectory:
      start !== undefined && isInsideOne(writable, realPath(resolve(start)))
        ? realPath(resolve(start))
        : (writable[0] ?? scratchFolder),
    writable,
    readOnly,
    links: [...links, ...linkToStart(start, visible)],
    covers: orderCovers([...covers.values()], writable),
    watched: [...watched]
      .filter(([path]) => ![...covers.values()].some((each) => hides(each) && isInside(each.path, path)))
      .map(([path, inode]) => ({ path, inode })),
    hosts: rules.flatMap(({ id, allowedDomains, deniedDomains }) =>
      allowedDomains === undefined ? [] : [{ ruleId: id, allowed: allowedDomains, denied: deniedDomains }],
    ),
    environment: makeEnvironment(input, given),
    limits,
  };
}

/** Resolves every folder that an enforced rule or the host names. Returns their real paths. */
function loadAnchors(
  anchors: SandboxAnchors,
  { contracts, readOnly, homeDirectory }: PlanInput,
): readonly string[] {
  const place = createPlacer(contracts.workflowHost.workingDirectory, homeDirectory);
  return anchors.load(contracts.policy, () => [
    ...contracts.policy.composed.rules.flatMap(({ rule, mode, candidate }) =>
      rule.type !== 'sandbox' || candidate || mode !== 'enforce'
        ? []
        : [...(rule.within ?? []), ...rule.notWithin].flatMap((text) => {
            try {
              return place(text).slice(0, 1);
            } catch {
              return []; // the plan of the tool itself says what is wrong
            }
          }),
    ),
    ...readOnly.map((path) => resolve(path)),
  ]);
}

/** A plan with the system only, to find out whether the engine works here. */
export function planTrial(): SandboxPlan {
  const { folders, links } = findSystemFolders();
  return {
    toolName: 'trial',
    ruleIds: [],
    workingDirectory: scratchFolder,
    writable: [],
    readOnly: folders,
    links,
    covers: [],
    watched: [],
    hosts: [],
    environment: { PATH: '/usr/bin:/bin' },
    limits: { ...defaultLimits, timeoutMs: 10_000 },
  };
}

/** The declared folder under the name that people and models know, if that leads through a link. */
function linkToStart(start: string | undefined, visible: readonly string[]): SandboxPlan['links'] {
  if (start === undefined) return [];
  const [path, target] = [resolve(start), realPath(resolve(start))];
  return path === target || !isInsideOne(visible, target) || isInsideOne(visible, path)
    ? []
    : [{ path, target }];
}

/** The private folder of a call, and its home. Both are empty when a call starts and gone when it ends. */
export const scratchFolder = '/tmp';
export const homeFolder = '/tmp/home';

/** Does the plan show this file or folder, or something in it? */
export function planShows(plan: SandboxPlan, absolutePath: string): boolean {
  const path = realPath(resolve(absolutePath));
  const hidden = plan.covers.filter(hides);
  if (hidden.some((each) => isInside(each.path, path))) return false;
  return [...plan.writable, ...plan.readOnly].some((root) => isInside(root, path) || isInside(path, root));
}

/** Does the plan keep calls away from this file as its access says? */
export function planProtects(plan: SandboxPlan, file: Omit<OwnFile, 'kind'>): boolean {
  if (findLinkIn(file.path, plan.writable) !== undefined) return false;
  const path = realPath(resolve(file.path));
  const whole = file.withCompanions ? dirname(path) : path;
  if (plan.covers.some((each) => hides(each) && isInside(each.path, whole))) return true;
  const roots = file.access === 'sealed' ? [...plan.writable, ...plan.readOnly] : plan.writable;
  if (!roots.some((root) => isInside(root, path) || isInside(path, root))) return true;
  return (
    file.access === 'read_only' &&
    plan.covers.some(({ kind, path: covered }) => kind === 'read_only' && isInside(covered, whole))
  );
}

/** The enforced sandbox rules of a tool, and their ids. Throws if there is none: nothing would say what is allowed. */
function findRules(toolName: string, { policy }: Contracts): readonly SandboxRule[] {
  const all = policy.composed.rules.flatMap(({ rule, mode, candidate }) =>
    rule.type === 'sandbox' && !candidate ? [{ tools: rule.tools, entry: { rule, mode } }] : [],
  );
  const found = createRuleIndex(all)(toolName);
  const enforced = found.filter(({ mode }) => mode === 'enforce').map(({ rule }) => rule);
  if (enforced.length > 0) return enforced;
  throw new QuittanceError(
    'config.invalid',
    found.length > 0
      ? `The sandbox rules for the tool ${quote(toolName)} only observe: ${found.map(({ rule }) => rule.id).join(', ')}. The executor needs one with mode: enforce.`
      : `No sandbox rule applies to the tool ${quote(toolName)}, so the executor does not know what it may use. Add one to the contract: {id: ${toolName}-here, type: sandbox, tools: [${toolName}], within: ['.'], message: Stay in the project.}`,
  );
}

type Place = (text: string) => readonly string[];

/** A path of a rule as the kernel knows it: as written, and with its links resolved. */
function createPlacer(workingDirectory: string | undefined, homeDirectory: string): Place {
  return (text) => {
    const written = text.trim();
    if (/[*?[\]{}]|%[0-9a-f]{2}|^[a-z][a-z0-9+.-]+:/i.test(written))
      throw new QuittanceError(
        'config.invalid',
        `The sandbox rule names ${quote(text)}. The executor takes plain paths: no patterns, no percent escapes and no scheme. Write the path as it is on the disk.`,
      );
    if (
      written !== '~' &&
      !written.startsWith('~/') &&
      !written.startsWith('/') &&
      workingDirectory === undefined
    )
      throw new QuittanceError(
        'config.invalid',
        `The sandbox rule names ${quote(text)}, which is relative. Pass workingDirectory to the function that reads the contract.`,
      );
    const home = written === '~' || written.startsWith('~/') ? `.${written.slice(1)}` : written;
    const path = resolve(home === written ? (workingDirectory ?? '/') : homeDirectory, home);
    return [...new Set([path, realPath(path)])];
  };
}

/** The folders that every rule with `within` allows, with links resolved and without those inside another one. */
function findWritable(
  toolName: string,
  rules: readonly SandboxRule[],
  place: Place,
  excluded: readonly string[],
): readonly string[] {
  const lists = rules.flatMap(({ within }) =>
    within === undefined ? [] : [within.flatMap(place).map((path) => realPath(path))],
  );
  const [first = [], ...others] = lists;
  const common = others.reduce<readonly string[]>(
    (allowed, list) =>
      allowed.flatMap((left) =>
        list.flatMap((right) => (isInside(left, right) ? [right] : isInside(right, left) ? [left] : [])),
      ),
    first,
  );
  const folders = [...new Set(common)].filter(
    // The private folder replaces /tmp, where other programs keep sockets and files.
    (path) => path !== scratchFolder && !excluded.some((each) => isInside(each, path)),
  );
  for (const path of folders) {
    const taken =
      ['/', ...systemFolders, ...reservedFolders].find((each) => isInside(path, each)) ??
      // A project may lie in /usr/src or in memory, but not among devices and settings.
      (path.startsWith('/dev/shm/') ? undefined : reservedFolders.find((each) => isInside(each, path)));
    if (taken !== undefined)
      throw new QuittanceError(
        'config.invalid',
        `The sandbox rules for ${quote(toolName)} allow ${path}, which would make parts of ${taken} writable. Name the folder of the project in within.`,
      );
    if (!exists(path))
      throw new QuittanceError(
        'config.invalid',
        `The sandbox rules for ${quote(toolName)} allow ${path}, which does not exist. Create it, or correct within.`,
      );
  }
  return folders.filter((path) => !folders.some((other) => other !== path && isInside(other, path))).sort();
}

/** Where the executor puts its own programs. */
export const programFolder = '/.quittance';
const reservedFolders = ['/etc', '/proc', '/dev', '/sys', '/run', '/boot', programFolder];
const systemFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/**
 * The parts of /etc that programs need to start and to check certificates. No accounts, no keys, no name servers:
 * `/etc/ssl/private` and `/etc/resolv.conf` are not among them.
 */
const systemFiles = [
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/alternatives',
  '/etc/ssl/certs',
  '/etc/ssl/cert.pem',
  '/etc/ssl/openssl.cnf',
  '/etc/ca-certificates',
  '/etc/pki/tls/certs',
  '/etc/pki/ca-trust/extracted',
  '/etc/localtime',
  '/etc/mime.types',
  '/etc/terminfo',
  '/etc/protocols',
  '/etc/services',
];

function findSystemFolders(): { readonly folders: readonly string[]; readonly links: SandboxPlan['links'] } {
  const folders: string[] = [];
  const links: { readonly path: string; readonly target: string }[] = [];
  for (const path of systemFolders) {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isSymbolicLink() === true) links.push({ path, target: readlinkSync(path) });
    else if (found?.isDirectory() === true) folders.push(path);
  }
  return { folders: [...folders, ...systemFiles.filter(exists)], links };
}

function checkReadOnly(path: string, ownFiles: readonly OwnFile[], writable: readonly string[]): string {
  const real = realPath(resolve(path));
  const own = ownFiles.find(
    (file) =>
      file.access === 'sealed' &&
      isInside(real, realPath(file.path)) &&
      !isInsideOne(writable, realPath(file.path)),
  );
  if (own !== undefined)
    throw new QuittanceError(
      'config.invalid',
      `readOnly shows ${real} to sandboxed commands, which holds ${describeOwnFile(own)} (${own.path}). Name a folder without it, or move the file.`,
    );
  if (!exists(real))
    throw new QuittanceError('config.invalid', `readOnly names ${path}, which does not exist.`);
  if (real === '/' || ['/proc', '/dev', '/sys', '/run', '/etc', scratchFolder].includes(real))
    throw new QuittanceError(
      'config.invalid',
      `readOnly names ${real}, which sandboxed commands must not see. Name the folder of one toolchain.`,
    );
  return real;
}

/** Passed on from the host if set. Everything else is given by the host or made here. */
const passedNames = ['LANG', 'LC_ALL', 'TERM', 'TZ', 'NODE_ENV', 'CI'];

function makeEnvironment(
  { environment, hostEnvironment }: PlanInput,
  readOnly: readonly string[],
): Readonly<Record<string, string>> {
  for (const name of Object.keys(environment))
    if (
      /^QUITTANCE_/i.test(name) ||
      !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ||
      environment[name]?.includes('\0')
    )
      throw new QuittanceError(
        'config.invalid',
        `env has ${quote(name)}, which sandboxed commands never get. Names are letters, digits and underscores, and do not start with QUITTANCE_.`,
      );
  const passed = passedNames.flatMap((name) => {
    const value = hostEnvironment[name];
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
  const programs = readOnly.map((folder) => join(folder, 'bin')).filter(isFolder);
  return {
    ...Object.fromEntries(passed),
    PATH: [...programs, '/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'].join(
      ':',
    ),
    HOME: homeFolder,
    TMPDIR: scratchFolder,
    USER: 'agent',
    ...environment,
  };
}
