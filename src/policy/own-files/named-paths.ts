/**
 * Finds every path that the arguments of a call name, to protect the runtime's own files. It reads all arguments, at
 * every depth, whatever the tool declares: a deny list is only as good as the paths it sees.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import type { ToolResources } from '../../tool/tool-resources.ts';
import { argumentRoleOf, type ArgumentRole } from '../sandbox/argument-role.ts';
import { decodePercent } from '../sandbox/percent-decoding.ts';
import type { PathSpelling } from '../sandbox/path-spelling.ts';
import { ResourceReader } from '../sandbox/resource-reader.ts';
import { readCommandPieces, readWordList, type ReadCommand } from './command-pieces.ts';
import { readCommandUse, type FileUse } from './command-use.ts';
import { expandBraces, expandPathVariables, tailOf } from './expand-path.ts';

export type NamedPath = {
  readonly spelling: PathSpelling;
  readonly use: FileUse;
  /** The folder is acted upon, not only used as a starting point. */
  readonly isTarget: boolean;
  /** The path is in a command: a shell's wildcards skip hidden names. */
  readonly inCommand: boolean;
  /** Starts at a place the runtime does not know, such as a variable. */
  readonly isTail: boolean;
};

export type NamedPaths = {
  readonly paths: readonly NamedPath[];
  /** Directories that relative paths may start from, as the call spells them. */
  readonly directories: readonly PathSpelling[];
  /** Uses of the directory that a command runs in. */
  readonly workingDirectoryUses: readonly FileUse[];
  readonly runsQuittance: boolean;
  /** There are more paths than can be checked. */
  readonly tooMany: boolean;
};

export type NamingCall = {
  readonly input: JsonObject;
  readonly resources: ToolResources | undefined;
  /** The tool's use of a file that is not part of a command. */
  readonly use: FileUse;
  /** Does a text contain the name of an own file? */
  readonly holdsOwnName: (text: string) => boolean;
};

type Item = {
  readonly value: JsonValue;
  readonly key: string;
  readonly role: ArgumentRole;
  readonly depth: number;
};

const mostCandidates = 1_500;
const mostDataTokens = 300;
const longestPath = 4_096;
const deepestText = 3;
/** Splitting a longer text is a step of its own. */
const longText = 8_192;
const strength: Readonly<Record<FileUse, number>> = { lists: 0, reads: 1, unknown: 2, changes: 3 };

/** State for the quick check of arguments. Roles are cached, since the same names come with every call. */
export type QuickLook = {
  readonly holdsOwnName: (text: string) => boolean;
  readonly roles: Map<string, boolean>;
};

/** False if nothing in the arguments can be a path: most calls end here. */
export function mayNamePaths(value: JsonValue, look: QuickLook): boolean {
  if (typeof value === 'string') return mayNamePath(value, look);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => mayNamePaths(item as JsonValue, look));
  for (const [key, inner] of Object.entries(value)) {
    if (
      (typeof inner === 'object' ? inner !== null : typeof inner === 'string' && inner !== '') &&
      namesFiles(key, look)
    )
      return true;
    if (mayNamePath(key, look) || mayNamePaths(inner as JsonValue, look)) return true;
  }
  return false;
}

/** In a text of several words and in mail addresses a dot says little, so only the names of own files count. */
function mayNamePath(text: string, { holdsOwnName }: QuickLook): boolean {
  if (text === '') return false;
  if (separatorLike.test(text)) return true;
  if (text.includes('.') && !/[\s@]/.test(text)) return true;
  return holdsOwnName(text);
}

/** A separator, a character that normalises to one, an escape, a pattern or a variable. */
const separatorLike =
  /[/\\~%$*?[\u2024-\u2026\u2044\u2215\u29f5\u29f8\u29f9\ufe30-\ufe6f\uff00-\uffef]|(?:^|\s)\.(?:$|\s)|quittance/i;
const pathLike = new RegExp(`${separatorLike.source}|\\.\\w{1,12}\\b`, 'i');

const mostRoles = 1_000;

function namesFiles(key: string, { roles }: QuickLook): boolean {
  const known = roles.get(key);
  if (known !== undefined) return known;
  const role = argumentRoleOf(key);
  const names = role !== 'other' && role !== 'prose' && role !== 'url';
  if (roles.size < mostRoles) roles.set(key, names);
  return names;
}

export function* findNamedPaths(call: NamingCall): Steps<NamedPaths> {
  const finding = new Finding(call.use, call.holdsOwnName);
  yield* finding.walk(call.input);
  const { resources } = call;
  for (const path of resources?.paths ?? []) yield* finding.readDeclared(call.input, path, 'path');
  for (const path of resources?.commands ?? []) yield* finding.readDeclared(call.input, path, 'command');
  return finding.finish();
}

class Finding {
  readonly #use: FileUse;
  readonly #holdsOwnName: NamingCall['holdsOwnName'];
  readonly #readers = new Map<
    string,
    { readonly reader: ResourceReader; readonly how: Omit<NamedPath, 'spelling'> }
  >();
  readonly #direct = new Map<string, NamedPath>();
  /** Texts already read, by use: a long script names the same files repeatedly. */
  readonly #read = new Set<string>();
  readonly #directories: string[] = [];
  /** Arguments that may name a folder to start from, or a folder to act upon. */
  readonly #folders: string[] = [];
  readonly #workingDirectoryUses: FileUse[] = [];
  #runsQuittance = false;
  #hasTargets = false;
  #count = 0;

  constructor(use: FileUse, holdsOwnName: NamingCall['holdsOwnName']) {
    this.#use = use;
    this.#holdsOwnName = holdsOwnName;
  }

  walk(input: JsonObject): Steps<void> {
    return this.#visitAll([{ value: input, key: '', role: 'other', depth: 0 }]);
  }

  readDeclared(input: JsonObject, dottedPath: string, role: 'path' | 'command'): Steps<void> {
    let values: readonly JsonValue[] = [input];
    const keys = dottedPath.split('.');
    for (const key of keys)
      values = values.flatMap((value) =>
        typeof value !== 'object' || value === null
          ? []
          : key === '*'
            ? Object.values(value)
            : Object.hasOwn(value, key)
              ? [(value as JsonObject)[key] ?? null]
              : [],
      );
    return this.#visitAll(values.map((value) => ({ value, key: keys.at(-1) ?? '', role, depth: 0 })));
  }

  *#visitAll(rest: Item[]): Steps<void> {
    for (let item = rest.pop(); item !== undefined && !this.#isFull(); item = rest.pop()) {
      yield* this.#visit(item, rest);
      yield;
    }
  }

  /** If so, the call is denied, whatever else it names. */
  #isFull(): boolean {
    return this.#count > mostCandidates;
  }

  finish(): NamedPaths {
    // Next to other paths or commands, a folder is their starting point. Alone, it is the target of the call.
    for (const folder of this.#folders)
      this.#readPath(folder, {
        use: this.#use,
        isTarget: !this.#hasTargets,
        inCommand: false,
        isTail: false,
      });
    const directories = new ResourceReader();
    for (const text of this.#directories) directories.readPath(expandPathVariables(text), true);
    const paths: NamedPath[] = [...this.#direct.values()];
    for (const { reader, how } of this.#readers.values())
      for (const spelling of reader.paths.values())
        if (how.isTail || !this.#direct.has(keyOf(how, spelling))) paths.push({ ...how, spelling });
    return {
      paths,
      directories: [...directories.paths.values()].slice(0, 16),
      workingDirectoryUses: this.#workingDirectoryUses,
      runsQuittance: this.#runsQuittance,
      tooMany: this.#isFull(),
    };
  }

  *#visit(item: Item, rest: Item[]): Steps<void> {
    const { value, role, depth } = item;
    if (typeof value === 'string') return yield* this.#readText(value, item, rest);
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      const list = value as readonly JsonValue[];
      if (list.length > 1 && list.every((part) => typeof part === 'string'))
        yield* this.#readList(list, role);
      for (const inner of list) rest.push({ ...item, value: inner });
      return;
    }
    for (const [key, inner] of Object.entries(value)) {
      if (pathLike.test(key)) this.#readPath(key, this.#plain());
      const own = argumentRoleOf(key);
      rest.push({ value: inner, key, role: own === 'other' ? inherited(role) : own, depth });
    }
  }

  /** The words of a command, or the components of one path. */
  *#readList(list: readonly string[], role: ArgumentRole): Steps<void> {
    if (role === 'command' || role === 'words') yield* this.#readCommand(readWordList(list));
    if (list.length <= 64) this.#readPath(list.join('/'), this.#plain());
  }

  *#readText(text: string, { key, role, depth }: Item, rest: Item[]): Steps<void> {
    if (text === '') return;
    switch (role) {
      case 'directory':
        this.#directories.push(text);
        if (!/^(?:cwd|chdir|(?:work|working|current|base)[\W_]*dir(?:ectory)?)$/i.test(key))
          this.#folders.push(text);
        else this.#readPath(text, { ...this.#plain(), isTarget: false });
        return;
      case 'path':
        this.#hasTargets = true;
        this.#readPath(text, this.#plain());
        if (/\s/.test(text)) for (const token of tokensOf(text)) this.#readPath(token, this.#plain());
        return;
      case 'command':
      case 'words':
        this.#hasTargets = true;
        if (text.length > longText) yield 'rest';
        return yield* this.#readCommand(readCommandPieces(text));
      case 'url':
        return this.#readPath(text, this.#plain());
      case 'prose':
        if (text.length <= longestPath && !/\s/.test(text.trim()) && pathLike.test(text))
          this.#readPath(text.trim(), { ...this.#plain(), isTarget: false });
        return;
      case 'other':
        return yield* this.#readValue(text, depth, rest);
    }
  }

  *#readValue(text: string, depth: number, rest: Item[]): Steps<void> {
    if (depth < deepestText && /^\s*[{["]/.test(text)) {
      const parsed = parseLeniently(text);
      if (parsed !== undefined) rest.push({ value: parsed, key: '', role: 'other', depth: depth + 1 });
    }
    if (text.length <= longestPath) this.#readPath(text.trim(), this.#plain());
    if (!/[\s"'`,;|()<>]/.test(text)) return;
    if (text.length > longText) yield 'rest';
    // A text that starts with a known program is a command, whatever its argument is called.
    const command = readCommandPieces(text.slice(0, 100_000));
    const first = command.pieces[0]?.words ?? [];
    if (first.length > 1 && readCommandUse(first).use !== 'unknown') yield* this.#readCommand(command);
    else if (command.pieces.some((piece) => readCommandUse(piece.words).runsQuittance))
      this.#runsQuittance = true;
    // A long text is data. Only words that look like an own file are followed.
    const before = this.#count;
    for (const [index, token] of tokensOf(text).entries())
      if (index < mostDataTokens || this.#holdsOwnName(token)) {
        this.#readPath(token, { ...this.#plain(), isTarget: false });
        yield;
      }
    this.#count = before;
  }

  *#readCommand({ pieces, feedsArguments }: ReadCommand): Steps<void> {
    yield pieces.length > 100 ? 'rest' : undefined;
    const uses = pieces.map(({ words }) => readCommandUse(words));
    const strongest = uses.reduce<FileUse>(
      (most, { use }) => (strength[use] > strength[most] ? use : most),
      'lists',
    );
    for (const [index, { words, writesTo }] of pieces.entries()) {
      const piece = uses[index];
      if (piece === undefined) continue;
      const use = feedsArguments ? strongest : piece.use;
      this.#runsQuittance ||= piece.runsQuittance;
      if (piece.actsOnWorkingDirectory) this.#workingDirectoryUses.push(use);
      const how = { use, isTarget: true, inCommand: true, isTail: false };
      for (const word of words) this.#readWord(word, how);
      for (const word of writesTo) this.#readWord(word, { ...how, use: 'changes' });
      this.#readMoves(words);
      this.#readChangesOfDirectory(words);
      yield;
    }
  }

  #readWord(word: string, how: Omit<NamedPath, 'spelling'>): void {
    if (word === '' || word.length > longestPath) return;
    this.#readPath(word, how);
    // `--file=x`, `if=x`, `-fx`, `host:x`, `@x`.
    const pieces = word.split(/[=:,@]/);
    if (pieces.length > 1) for (const piece of pieces) if (piece !== '') this.#readPath(piece, how);
    const glued = /^-\w(.+)$/s.exec(word)?.[1];
    if (glued !== undefined) this.#readPath(glued, how);
  }

  /** `cp contracts.yaml folder` makes `folder/contracts.yaml`. */
  #readMoves(words: readonly string[]): void {
    const program = words.findIndex((word) => /(?:^|\/)(?:cp|mv|install|ln|rsync|scp)$/.test(word));
    if (program < 0) return;
    const operands = words.slice(program + 1).filter((word) => !word.startsWith('-'));
    const option = words.findIndex((word) => word === '-t' || word === '--target-directory');
    const glued = words.find((word) => /^(?:--target-directory=|-t.)/.test(word));
    const target =
      option >= 0
        ? words[option + 1]
        : (glued?.replace(/^(?:--target-directory=|-t)/, '') ?? operands.at(-1));
    if (target === undefined) return;
    for (const operand of operands) {
      const name = operand.split('/').findLast((part) => part !== '');
      if (name !== undefined && operand !== target)
        this.#readPath(`${target}/${name}`, {
          use: 'changes',
          isTarget: true,
          inCommand: true,
          isTail: false,
        });
    }
  }

  #readChangesOfDirectory(words: readonly string[]): void {
    for (const [index, word] of words.entries()) {
      const next = words[index + 1];
      if (
        /^(?:cd|chdir|pushd|-C|--directory|--cwd|--prefix|--work-tree|-D|--chdir)$/.test(word) &&
        next !== undefined
      )
        this.#directories.push(next);
      const glued = /^(?:-C|--(?:directory|cwd|prefix|work-tree|chdir)=)(.+)$/s.exec(word)?.[1];
      if (glued !== undefined) this.#directories.push(glued);
    }
  }

  #readPath(text: string, how: Omit<NamedPath, 'spelling'>): void {
    const known = `${keyOfHow(how)} ${text}`;
    if (this.#isFull() || text.length > longestPath || this.#read.has(known)) return;
    this.#read.add(known);
    for (const one of expandBraces(text)) {
      this.#count++;
      const known = expandPathVariables(one);
      const tail = tailOf(known);
      if (tail !== undefined) this.#readerFor({ ...how, isTail: true }).readPath(tail, true);
      this.#readerFor(how).readPath(known, true);
      this.#spellDirectly(known, how);
      // Any scheme may come before a path: `sqlite:x`, `jar:file:x`.
      const bare = known.replace(/^(?:[a-z][a-z0-9+.-]+:)+(?:\/\/(?=\/))?/i, '');
      if (bare !== known && bare !== '') this.#readerFor(how).readPath(bare.split(/[?#!]/, 1)[0] ?? '', true);
    }
  }

  /**
   * An allow list cannot read paths such as `/proc/self/fd/3` or a file stream. They still lead to a file, so the
   * file system is asked.
   */
  #spellDirectly(text: string, how: Omit<NamedPath, 'spelling'>): void {
    for (const one of new Set([text.trim(), decodePercent(text).trim()])) {
      if (one.includes('\0')) continue;
      const root = one.startsWith('/') ? '/' : /^~(?=$|[/\\])/.test(one) ? '~' : undefined;
      const parts = (root === '~' ? one.slice(1) : one)
        .split('/')
        .filter((part) => part !== '' && part !== '.');
      const spelling = { root, parts } as const;
      this.#direct.set(keyOf(how, spelling), { ...how, spelling });
    }
  }

  #readerFor(how: Omit<NamedPath, 'spelling'>): ResourceReader {
    const key = keyOfHow(how);
    const known = this.#readers.get(key) ?? { reader: new ResourceReader(), how };
    this.#readers.set(key, known);
    return known.reader;
  }

  #plain(): Omit<NamedPath, 'spelling'> {
    return { use: this.#use, isTarget: true, inCommand: false, isTail: false };
  }
}

const keyOfHow = ({ use, isTarget, inCommand, isTail }: Omit<NamedPath, 'spelling'>): string =>
  `${use} ${isTarget} ${inCommand} ${isTail}`;

const keyOf = (how: Omit<NamedPath, 'spelling'>, { root, parts }: PathSpelling): string =>
  `${keyOfHow(how)} ${root ?? ''} ${parts.join('/')}`;

/** `{command: {program: 'rm', rest: ['x']}}`: members of a command are part of it. */
const inherited = (role: ArgumentRole): ArgumentRole =>
  role === 'command' || role === 'words' || role === 'path' ? role : 'other';

const tokensOf = (text: string): readonly string[] =>
  [...text.slice(0, 200_000).matchAll(/[^\s"'`,;|()<>]+/g)]
    .map(([token]) => token)
    .filter((token) => pathLike.test(token));

function parseLeniently(text: string): JsonValue | undefined {
  try {
    // JSON.parse returns a JSON value.
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
