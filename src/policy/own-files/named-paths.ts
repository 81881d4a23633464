/**
 * Finds every path that the arguments of a call name, to protect the runtime's own files. It reads all arguments, at
 * every depth, whatever the tool declares: a deny list is only as good as the paths it sees.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import type { ToolResources } from '../../tool/tool-resources.ts';
import { argumentRoleOf, type ArgumentRole } from '../sandbox/argument-role.ts';
import type { PathSpelling } from '../sandbox/path-spelling.ts';
import { ResourceReader } from '../sandbox/resource-reader.ts';
import { changedDirectories, movedPaths, pathsInCommandWord } from './command-paths.ts';
import { readCommandPieces, readWordList, type ReadCommand } from './command-pieces.ts';
import { readCommandUse, type FileUse } from './command-use.ts';
import { expandPathVariables } from './expand-path.ts';
import { pathLike } from './may-name-paths.ts';
import { longestPath, PathCollector, type NamedPath, type PathUse } from './path-collector.ts';

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

const mostDataTokens = 300;
const deepestText = 3;
/** Splitting a longer text is a step of its own. */
const longText = 8_192;
const strength: Readonly<Record<FileUse, number>> = { lists: 0, reads: 1, unknown: 2, changes: 3 };

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
  readonly #found = new PathCollector();
  readonly #directories: string[] = [];
  /** Arguments that may name a folder to start from, or a folder to act upon. */
  readonly #folders: string[] = [];
  readonly #workingDirectoryUses: FileUse[] = [];
  #runsQuittance = false;
  #hasTargets = false;

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
    for (let item = rest.pop(); item !== undefined && !this.#found.isFull; item = rest.pop()) {
      yield* this.#visit(item, rest);
      yield;
    }
  }

  finish(): NamedPaths {
    // Next to other paths or commands, a folder is their starting point. Alone, it is the target of the call.
    for (const folder of this.#folders)
      this.#found.add(folder, {
        use: this.#use,
        isTarget: !this.#hasTargets,
        inCommand: false,
        isTail: false,
      });
    const directories = new ResourceReader();
    for (const text of this.#directories) directories.readPath(expandPathVariables(text), true);
    return {
      paths: this.#found.paths,
      directories: [...directories.paths.values()].slice(0, 16),
      workingDirectoryUses: this.#workingDirectoryUses,
      runsQuittance: this.#runsQuittance,
      tooMany: this.#found.isFull,
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
      if (pathLike.test(key)) this.#found.add(key, this.#plain());
      const own = argumentRoleOf(key);
      rest.push({ value: inner, key, role: own === 'other' ? inherited(role) : own, depth });
    }
  }

  /** The words of a command, or the components of one path. */
  *#readList(list: readonly string[], role: ArgumentRole): Steps<void> {
    if (role === 'command' || role === 'words') yield* this.#readCommand(readWordList(list));
    if (list.length <= 64) this.#found.add(list.join('/'), this.#plain());
  }

  *#readText(text: string, { key, role, depth }: Item, rest: Item[]): Steps<void> {
    if (text === '') return;
    switch (role) {
      case 'directory':
        this.#directories.push(text);
        if (!/^(?:cwd|chdir|(?:work|working|current|base)[\W_]*dir(?:ectory)?)$/i.test(key))
          this.#folders.push(text);
        else this.#found.add(text, { ...this.#plain(), isTarget: false });
        return;
      case 'path':
        this.#hasTargets = true;
        this.#found.add(text, this.#plain());
        if (/\s/.test(text)) for (const token of tokensOf(text)) this.#found.add(token, this.#plain());
        return;
      case 'command':
      case 'words':
        this.#hasTargets = true;
        if (text.length > longText) yield 'rest';
        return yield* this.#readCommand(readCommandPieces(text));
      case 'url':
        return this.#found.add(text, this.#plain());
      case 'prose':
        if (text.length <= longestPath && !/\s/.test(text.trim()) && pathLike.test(text))
          this.#found.add(text.trim(), { ...this.#plain(), isTarget: false });
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
    if (text.length <= longestPath) this.#found.add(text.trim(), this.#plain());
    if (!/[\s"'`,;|()<>]/.test(text)) return;
    if (text.length > longText) yield 'rest';
    // A text that starts with a known program is a command, whatever its argument is called.
    const command = readCommandPieces(text.slice(0, 100_000));
    const first = command.pieces[0]?.words ?? [];
    if (first.length > 1 && readCommandUse(first).use !== 'unknown') yield* this.#readCommand(command);
    else if (command.pieces.some((piece) => readCommandUse(piece.words).runsQuittance))
      this.#runsQuittance = true;
    // A long text is data. Only words that look like an own file are followed.
    const before = this.#found.count;
    for (const [index, token] of tokensOf(text).entries())
      if (index < mostDataTokens || this.#holdsOwnName(token)) {
        this.#found.add(token, { ...this.#plain(), isTarget: false });
        yield;
      }
    this.#found.count = before;
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
      const changes = { ...how, use: 'changes' } as const;
      for (const path of words.flatMap(pathsInCommandWord)) this.#found.add(path, how);
      for (const path of writesTo.flatMap(pathsInCommandWord)) this.#found.add(path, changes);
      for (const path of movedPaths(words)) this.#found.add(path, changes);
      for (const directory of changedDirectories(words)) this.#directories.push(directory);
      yield;
    }
  }

  #plain(): PathUse {
    return { use: this.#use, isTarget: true, inCommand: false, isTail: false };
  }
}

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
