/**
 * Keeps calls away from the runtime's own files.
 *
 * A call that names a `sealed` file, or something in it, is denied. A call that names a folder above a `sealed` file is
 * denied unless it only lists names.
 *
 * A call that names a `read_only` file is denied unless it only reads. A call that names a folder above a `read_only`
 * file is denied if it removes, moves or overwrites the folder.
 */
import { foldName } from '../../base/fold-name.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import type { ToolMode } from '../../tool/mode.ts';
import { splitNameWords } from '../../tool/name-words.ts';
import type { ToolResources } from '../../tool/tool-resources.ts';
import { readBase, type Base } from '../sandbox/found-path.ts';
import { climbs, foldParts, type PathSpelling } from '../sandbox/path-spelling.ts';
import type { FileUse } from '../sandbox/programs.ts';
import { mayNamePaths, findNamedPaths, type NamedPath } from './named-paths.ts';
import type { OwnFile, OwnFilesWorld, LocatedOwnFile } from './own-file.ts';
import { locateOwnFile, normalizePart } from './own-file.ts';
import { compilePattern, relatePath, relatePattern, relateTail, type Relation } from './relate-path.ts';

/** The tool of a call, as far as it matters here. */
export type JudgedTool = {
  readonly name: string;
  readonly mode: ToolMode;
  readonly surelyReads: boolean;
  readonly resources?: ToolResources | undefined;
};

type JudgedCall = {
  readonly toolName: string;
  readonly mode: ToolMode;
  readonly surelyReads: boolean;
  readonly input: JsonObject;
  readonly resources: ToolResources | undefined;
};

export type OwnFileBreach =
  /** The call names an own file, or a folder that holds one. */
  | { readonly type: 'inside' | 'contains'; readonly file: OwnFile; readonly named: string }
  | { readonly type: 'too_many_paths' };

/** Runs in steps, because a call may name a thousand paths. Undefined if nothing in the call can be a path. */
export type JudgeOwnFiles = (
  tool: JudgedTool,
  input: JsonObject,
) => Steps<OwnFileBreach | undefined> | undefined;

const mostBases = 16;

// oxlint-disable-next-line eslint/no-control-regex -- every character of ASCII
const isPlainText = /^[\x00-\x7f]*$/;

/** Locates the own files once. After that, a call is judged by the paths it names. */
export function protectOwnFiles(files: readonly OwnFile[], world: OwnFilesWorld): JudgeOwnFiles {
  const placed = files.map((file) => locateOwnFile(file, world.realPath));
  const starts = [...new Set(placed.flatMap(({ paths }) => paths.map(({ names: [name = ''] }) => name)))];
  const shortest = Math.min(...starts.map(({ length }) => length));
  const holdsOwnName = (text: string): boolean => {
    // Most texts are short. Normalizing may make another one longer.
    if (text.length < shortest && isPlainText.test(text)) return false;
    const folded = foldName(text);
    for (const start of starts) if (folded.includes(start)) return true;
    return false;
  };
  const look = { holdsOwnName, roles: new Map<string, boolean>() };
  return ({ name: toolName, mode, surelyReads, resources }, input) => {
    if (placed.length === 0 || !mayNamePaths(input, look)) return undefined;
    return judge({ toolName, mode, surelyReads, input, resources }, placed, world, holdsOwnName);
  };
}

function* judge(
  call: JudgedCall,
  placed: readonly LocatedOwnFile[],
  fileSystem: OwnFilesWorld,
  holdsOwnName: (text: string) => boolean,
): Steps<OwnFileBreach | undefined> {
  const world = { ...fileSystem, realPath: rememberParents(fileSystem) };
  const found = yield* findNamedPaths({ ...call, use: useOfTool(call), holdsOwnName });
  if (found.tooMany) return { type: 'too_many_paths' };
  const here = world.workingDirectories().flatMap((directory) => readBase(directory) ?? []);
  const bases = [...here];
  for (const directory of found.directories) {
    if (bases.length >= mostBases) break;
    for (const start of startsOf(directory, here, world))
      bases.push({ root: start.root, parts: [...start.parts, ...directory.parts] });
  }
  const inodes = new Inodes(placed, world);
  for (const use of found.workingDirectoryUses)
    for (const base of bases) {
      const breach = judgePlace(base, [], { use, isTarget: true, inCommand: true }, placed, world, inodes);
      if (breach !== undefined) return breach;
    }
  for (const named of found.paths) {
    const breach = judgeNamed(named, bases, placed, world, inodes);
    if (breach !== undefined) return breach;
    yield;
  }
  return undefined;
}

function judgeNamed(
  named: NamedPath,
  bases: readonly Base[],
  placed: readonly LocatedOwnFile[],
  world: OwnFilesWorld,
  inodes: Inodes,
): OwnFileBreach | undefined {
  if (named.type === 'pattern') return judgePattern(named, bases, placed, world);
  const { spelling } = named;
  for (const base of startsOf(spelling, bases, world)) {
    const breach = judgePlace(base, spelling.parts, named, placed, world, inodes);
    if (breach !== undefined) return breach;
  }
  if (spelling.root !== undefined) return undefined;
  // Relative to a directory that only the tool knows.
  const parts = foldParts(spelling.parts)
    .filter((part) => part !== '..')
    .map(normalizePart);
  for (const own of placed) {
    const relation = relateTail(parts, own, climbs(spelling.parts));
    if (relation !== undefined && isRefused(relation, own.file, named))
      return { type: relation.type, file: own.file, named: spell(spelling) };
  }
  return undefined;
}

/** A text with marks, from every folder it may start from. The folder before the first mark is resolved. */
function judgePattern(
  named: Extract<NamedPath, { readonly type: 'pattern' }>,
  bases: readonly Base[],
  placed: readonly LocatedOwnFile[],
  world: OwnFilesWorld,
): OwnFileBreach | undefined {
  const [, literal = '', rest = ''] = /^((?:[^$`\\{[*?!@+()]*\/)?)(.*)$/s.exec(named.text) ?? [];
  const root = literal.startsWith('/') ? '/' : literal.startsWith('~/') ? '~' : undefined;
  const folders = (root === '~' ? literal.slice(1) : literal)
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  const starts = /^~[^/]/.test(named.text)
    ? [{ root: '/', parts: [] }]
    : startsOf({ root, parts: [] }, bases, world);
  for (const start of starts) {
    const spelled = toText(start.root, foldParts([...start.parts, ...folders]));
    for (const folder of new Set([spelled, world.realPath(spelled)])) {
      const normal = folder.split('/').map(normalizePart).join('/');
      const text = /^~[^/]/.test(named.text) ? named.text : rest;
      const compile = (part: string) => compilePattern(part, normal, named.inCommand);
      const pattern = compile(text);
      // The part before a slash may name a folder that is protected as a whole.
      const above = [...text.matchAll(/\//g)]
        .slice(-16)
        .flatMap(({ index }) => compile(text.slice(0, index)) ?? []);
      for (const own of placed) {
        const relation =
          (pattern && relatePattern(pattern, own)) ??
          above.map((each) => relatePattern(each, own)).find((each) => each?.type === 'inside');
        if (relation !== undefined && isRefused(relation, own.file, named))
          return { type: relation.type, file: own.file, named: named.text };
      }
    }
  }
  return undefined;
}

/** Own files by device and inode, looked up only for a path that has several names. */
class Inodes {
  readonly #placed: readonly LocatedOwnFile[];
  readonly #world: OwnFilesWorld;
  #known: ReadonlyMap<string, OwnFile> | undefined;

  constructor(placed: readonly LocatedOwnFile[], world: OwnFilesWorld) {
    this.#placed = placed;
    this.#world = world;
  }

  find(path: string): OwnFile | undefined {
    const inode = this.#world.sharedInode(path);
    if (inode === undefined) return undefined;
    this.#known ??= new Map(
      this.#placed.flatMap(({ file }) => this.#world.inodesOf(file).map((each) => [each, file] as const)),
    );
    return this.#known.get(inode);
  }
}

type Naming = Pick<NamedPath, 'use' | 'isTarget' | 'inCommand'>;

function judgePlace(
  base: Base,
  parts: readonly string[],
  naming: Naming,
  placed: readonly LocatedOwnFile[],
  world: OwnFilesWorld,
  inodes: Inodes,
): OwnFileBreach | undefined {
  const all = [...base.parts, ...parts];
  const folded = foldParts(all);
  const spelled = toText(base.root, folded);
  const places = new Set([spelled, ...realPlaces(base.root, all, spelled, world)]);
  for (const place of places) {
    const at = readBase(place);
    if (at === undefined) continue;
    if (isProcessMemory(place)) return breachOfMemory(placed, place);
    const named = [at.root, ...at.parts].map(normalizePart);
    for (const own of placed) {
      const relation = relatePath(named, own);
      // Every machine has these below its root. If nothing else is protected, the rules decide about the root.
      const { kind } = own.file;
      if (relation?.type === 'contains' && spelled === '/' && kind === 'runtime_package') continue;
      // A folder above credentials counts only if there are any.
      if (
        relation?.type === 'contains' &&
        kind === 'credentials' &&
        (spelled === '/' || world.inodesOf(own.file).length === 0)
      )
        continue;
      if (relation !== undefined && isRefused(relation, own.file, naming))
        return { type: relation.type, file: own.file, named: spelled };
    }
  }
  const linked = inodes.find(spelled);
  return linked !== undefined && isRefused({ type: 'inside', byPattern: false }, linked, naming)
    ? { type: 'inside', file: linked, named: spelled }
    : undefined;
}

/** The path by its text, and the path as the kernel follows it: `link/..` differs between the two. */
function realPlaces(
  root: string,
  parts: readonly string[],
  spelled: string,
  world: OwnFilesWorld,
): readonly string[] {
  const real = world.realPath(spelled);
  if (!parts.includes('..')) return [real];
  let reached = toText(root, []);
  for (const part of parts.slice(0, 256))
    reached =
      part === '..'
        ? world.realPath(reached).replace(/\/[^/]*$/, '') || toText(root, [])
        : `${reached.replace(/\/$/, '')}/${part}`;
  return [real, world.realPath(reached)];
}

function isRefused(relation: Relation, file: OwnFile, { use, isTarget }: Naming): boolean {
  if (relation.type === 'inside') {
    // A pattern that only lists names may list these too.
    if (file.access === 'sealed') return !(relation.byPattern && use === 'lists');
    return use !== 'lists' && use !== 'reads';
  }
  if (!isTarget) return false;
  return file.access === 'sealed' ? use !== 'lists' : use === 'changes';
}

/** How a tool treats files that it names outside of commands: by its mode, else it may write. */
function useOfTool({ mode, surelyReads, toolName }: JudgedCall): FileUse {
  if (mode === 'destructive') return 'changes';
  const [first = '', ...rest] = splitNameWords(toolName.replace(/^.*__/s, ''));
  const isLister =
    /^(?:list|ls|glob|tree|stat|exists)$/.test(first) &&
    !rest.some((word) => /^(?:and|read|copy|move|zip|upload|backup|delete|export|archive)$/.test(word));
  if (isLister && mode === 'read') return 'lists';
  return surelyReads ? 'reads' : 'writes';
}

/** Most paths of one call lie in the same few folders, so each folder is looked up once per call. */
function rememberParents({ realPath, isLink }: OwnFilesWorld): OwnFilesWorld['realPath'] {
  const known = new Map<string, string>();
  return (path) => {
    const end = path.lastIndexOf('/');
    if (end <= 0 || end === path.length - 1 || isLink(path)) return realPath(path);
    const folder = path.slice(0, end);
    const real = known.get(folder) ?? realPath(folder);
    known.set(folder, real);
    return `${real.replace(/\/$/, '')}${path.slice(end)}`;
  };
}

/** The directories that a spelling may start from. */
function startsOf(spelling: PathSpelling, bases: readonly Base[], world: OwnFilesWorld): readonly Base[] {
  if (spelling.root === undefined) return bases;
  if (spelling.root === '~') {
    const home = world.homeDirectory === undefined ? undefined : readBase(world.homeDirectory);
    return home === undefined ? [] : [home];
  }
  return [{ root: spelling.root, parts: [] }];
}

const toText = (root: string, parts: readonly string[]): string =>
  root === '/' ? `/${parts.join('/')}` : `${root}/${parts.join('/')}`;

const spell = ({ root, parts }: PathSpelling): string =>
  root === undefined ? parts.join('/') : root === '/' ? `/${parts.join('/')}` : `${root}/${parts.join('/')}`;

/** The memory of a process contains the key, whichever files are protected. */
const isProcessMemory = (place: string): boolean =>
  /^\/proc\/(?:self|thread-self|\d+)\/(?:task\/\d+\/)?(?:mem|map_files)(?:\/|$)/.test(place);

const breachOfMemory = (placed: readonly LocatedOwnFile[], named: string): OwnFileBreach | undefined => {
  const sealed = placed.find(({ file }) => file.access === 'sealed')?.file;
  return sealed && { type: 'inside', file: sealed, named };
};
