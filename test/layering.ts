import ts from 'typescript';
import type { Package } from '../scripts/packages.ts';
import { readPackages } from '../scripts/packages.ts';
import { importsOf, lineOf, walk, type Import, type Source } from './sources.ts';

/**
 * The architecture.
 *
 * 1. A package imports what its package.json lists, and its own files. The packages have no cycle.
 * 2. The core has rooms, lowest first: a file imports its own room and the rows above its own, never a row below. Rooms
 *    that share a row do not know each other.
 *
 * A door is a file that a package exports by name: it only gathers, so it may import anything of its package, and no
 * file of the package imports it.
 */
export const layers: readonly (readonly string[])[] = [
  ['base'],
  // Work in threads of its own.
  ['threads'],
  ['tool'],
  ['call'],
  // Rules, from the pattern to the judgement.
  ['policy/regex'],
  ['policy/language'],
  ['policy/read'],
  ['policy/sandbox'],
  ['policy/compose'],
  ['policy/own-files'],
  ['policy/workflow'],
  ['policy/judge'],
  ['ledger'],
  ['view'],
  ['runtime'],
  ['replay'],
  ['store/files', 'store/sql'],
  ['store/memory', 'store/sqlite'],
  ['store'],
  ['contracts'],
  ['outbound'],
  // Runs tools in the kernel's own sandbox.
  ['sandbox'],
  ['testing'],
];

/** Folders that only compute: of Node they may use digests and inspection only. */
const pure = new Set(['base', 'tool', 'call', 'policy', 'ledger', 'view']);
const isPure = (folder: string): boolean => pure.has(folder.split('/')[0] ?? folder);
const pureMayUse = new Set(['node:crypto', 'node:util', 'node:module']);

/**
 * The folders that may read the global `process`. Contracts read its environment for their rules, owners of a ledger
 * register their process id, and test helpers check whether recording is allowed. The sandbox filters the environment
 * and shows the running Node inside.
 */
const readsProcess = new Set(['contracts', 'sandbox', 'store', 'store/files', 'testing']);
const isProgram = (path: string): boolean => /^packages\/(?:cli|create-quittance)\//.test(path);

const bannedLines: readonly [RegExp, string][] = [
  [/@ts-(nocheck|ignore)\b/, 'silences the compiler; `@ts-expect-error` belongs in a type test'],
  [/\b(?:oxlint|eslint)-disable(?:-next-line|-line)?\s*(?:\*\/|--|$)/m, 'switches every lint rule off'],
  [
    /\b(?:oxlint|eslint)-disable.*\b(?:no-cycle|no-self-import|no-restricted-(?:imports|globals|properties|paths)|no-process-env)\b/,
    'switches off a rule that keeps this architecture',
  ],
  [/\.terminate\(/, 'takes the process with it where the database is at work; a thread ends by itself'],
];

/** Every breach of the architecture in the given files, as sentences. Empty if there is none. */
export function breaches(sources: readonly Source[]): string[] {
  const imports = sources.flatMap(importsOf);
  return [
    ...sources.flatMap(homeless),
    ...imports.flatMap(wrongDirection),
    ...cycles(sources, imports),
    ...imports.flatMap(impure),
    ...sources.flatMap(processReads),
    ...sources.flatMap(moduleState),
    ...sources.flatMap(forbiddenLines),
    ...databaseInEndedThread(imports),
  ];
}

const listing = (): string => layers.map((row) => row.join(' | ')).join(' < ');

const rooms = layers.flat();

const core = 'packages/quittance/src/';
const packages = readPackages();
const packageOf = (path: string): Package | undefined =>
  packages.find(({ folder }) => path.startsWith(`${folder}/`));

/** The room of a file of the core: its folder, or the folder in that one if such folders are listed. */
function folderOf(path: string): string | undefined {
  if (!path.startsWith(core)) return undefined;
  const [first, second] = path.slice(core.length).split('/').slice(0, -1);
  const hasRooms = rooms.some((room) => room.startsWith(`${first}/`));
  return hasRooms && second !== undefined ? `${first}/${second}` : first;
}

const rowOf = (folder: string): number => layers.findIndex((row) => row.includes(folder));

const doors = new Set(packages.flatMap((each) => each.doors.map(({ source }) => source)));
const isDoor = (path: string): boolean => doors.has(path);

function homeless({ path }: Source): string[] {
  if (isDoor(path)) return [];
  if (/\/index\.tsx?$/.test(path))
    return [`${path}: an index.ts is allowed only at a door. Import the files of this folder instead.`];
  const folder = folderOf(path);
  if (folder === undefined || rowOf(folder) !== -1) return [];
  return [`${path}: the folder "${folder}" has no place in the order. Known, lowest first: ${listing()}.`];
}

function wrongDirection(found: Import): string[] {
  return found.isFile ? [...wrongPackage(found), ...wrongRoom(found)] : unlisted(found);
}

/** A package of others must be listed too, so that it is installed with the package. */
function unlisted({ from, to, line }: Import): string[] {
  const mine = packageOf(from);
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(to)?.[0] ?? to;
  if (mine === undefined || to.startsWith('node:') || mine.dependencies.has(name)) return [];
  return [`${from}:${line} imports ${to}, which ${mine.folder}/package.json does not list.`];
}

function wrongPackage({ from, to, name, line }: Import): string[] {
  const [mine, theirs] = [packageOf(from), packageOf(to)];
  if (mine === undefined) return [];
  if (theirs === undefined)
    return [`${from}:${line} imports ${to}, outside the packages. What is published imports packages only.`];
  if (mine.folder === theirs.folder)
    return name === undefined
      ? []
      : [`${from}:${line} imports the package by its own name. Import the file that declares what you need.`];
  if (name === undefined) return [`${from}:${line} imports ${to} by its path. Import it as ${theirs.name}.`];
  if (mine.dependencies.has(theirs.name)) return [];
  return [`${from}:${line} imports ${theirs.name}, which ${mine.folder}/package.json does not list.`];
}

function wrongRoom({ from, to, name, line }: Import): string[] {
  if (name === undefined && !/\.(tsx?|json)$/.test(to))
    return [`${from}:${line} imports ${to} without its file extension (.ts).`];
  const [mine, theirs] = [folderOf(from), folderOf(to)];
  if (packageOf(from) !== packageOf(to) || name !== undefined || isDoor(from)) return [];
  if (isDoor(to))
    return [`${from}:${line} imports the door ${to}. Import the file that declares what you need.`];
  if (mine === undefined || theirs === undefined || mine === theirs) return [];
  const [myRow, theirRow] = [rowOf(mine), rowOf(theirs)];
  if (myRow === -1 || theirRow === -1) return []; // reported by homeless
  if (theirRow < myRow) return [];
  return [
    theirRow === myRow
      ? `${from}:${line} imports ${to}: "${mine}" and "${theirs}" stand side by side and do not know each other. ` +
        `What both need goes into a lower folder.`
      : `${from}:${line} imports ${to}: "${mine}" is below "${theirs}" and may not know it. ` +
        `Declare a port in "${mine}", or move the file. Order: ${listing()}.`,
  ];
}

function cycles(sources: readonly Source[], imports: readonly Import[]): string[] {
  const targets = new Map<string, string[]>(sources.map(({ path }) => [path, []]));
  for (const { from, to } of imports) if (targets.has(to)) targets.get(from)?.push(to);

  const found: string[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): void => {
    const seenAt = trail.indexOf(path);
    if (seenAt !== -1) {
      const loop = [...trail.slice(seenAt), path];
      found.push(`Import cycle: ${loop.join(' -> ')}. Two files that need each other share a third.`);
      return;
    }
    if (done.has(path)) return;
    trail.push(path);
    for (const next of targets.get(path) ?? []) visit(next);
    trail.pop();
    done.add(path);
  };
  for (const path of targets.keys()) visit(path);
  return found;
}

function impure({ from, to, line }: Import): string[] {
  const folder = folderOf(from);
  if (folder === undefined || !isPure(folder) || !to.startsWith('node:') || pureMayUse.has(to)) return [];
  return [
    `${from}:${line} imports ${to}: "${folder}" is pure and may use only ${[...pureMayUse].join(', ')} of Node. ` +
      `Take what you need through a port.`,
  ];
}

function processReads(source: Source): string[] {
  const folder = folderOf(source.path);
  if (isProgram(source.path) || (folder !== undefined && readsProcess.has(folder))) return [];
  const found: string[] = [];
  const say = (node: ts.Node, what: string): void => {
    found.push(
      `${source.path}:${lineOf(source, node)} ${what}. Only packages/cli may; pass the value in instead.`,
    );
  };
  walk(source.tree, (node) => {
    if (ts.isIdentifier(node) && node.text === 'process' && isGlobalRead(node))
      say(node, 'reads the global `process`');
  });
  for (const { to, line } of importsOf(source))
    if (to === 'node:process' || to === 'process')
      found.push(`${source.path}:${line} imports ${to}. Only packages/cli may; pass the value in instead.`);
  return found;
}

/**
 * True for `process.env`, `globalThis.process` and `typeof process`; false if `process` only names a member.
 */
function isGlobalRead(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node)
    return ts.isIdentifier(parent.expression) && parent.expression.text === 'globalThis';
  const namesAMember =
    (ts.isPropertyAssignment(parent) ||
      ts.isPropertySignature(parent) ||
      ts.isPropertyDeclaration(parent) ||
      ts.isMethodDeclaration(parent) ||
      ts.isMethodSignature(parent) ||
      ts.isNamedTupleMember(parent) ||
      ts.isBindingElement(parent)) &&
    (parent.name === node || (ts.isBindingElement(parent) && parent.propertyName === node));
  return !namesAMember;
}

function moduleState(source: Source): string[] {
  return source.tree.statements
    .filter(ts.isVariableStatement)
    .filter(
      ({ declarationList }) =>
        (declarationList.flags & ts.NodeFlags.BlockScoped) === ts.NodeFlags.Let ||
        (declarationList.flags & ts.NodeFlags.BlockScoped) === 0,
    )
    .map(
      (statement) =>
        `${source.path}:${lineOf(source, statement)} declares module-level state: ` +
        `\`${statement.declarationList.getText(source.tree).split('\n')[0]}\`. Hang it from the runtime.`,
    );
}

/** How threads are ended from outside, the only file that does so, and what its threads do: no database may be opened there. */
const endsThreads = new Set([
  'packages/quittance/src/threads/task-thread.ts',
  'packages/server/src/http/contract-threads.ts',
]);
const endedThread = 'packages/server/src/http/contract-task.ts';

function databaseInEndedThread(imports: readonly Import[]): string[] {
  const reached = new Set([endedThread]);
  for (const path of reached) for (const { from, to } of imports) if (from === path) reached.add(to);
  return [...reached]
    .filter((path) => path.startsWith(`${core}store/`) || path === 'node:sqlite')
    .map(
      (path) => `${endedThread} reaches ${path}: a thread with a database must not be ended from outside.`,
    );
}

function forbiddenLines({ path, text }: Source): string[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      bannedLines
        .filter(([pattern]) => pattern.test(line) && !(endsThreads.has(path) && pattern.test('.terminate(')))
        .map(([, why]) => `${path}:${index + 1} \`${line.trim()}\` ${why}.`),
    );
}
