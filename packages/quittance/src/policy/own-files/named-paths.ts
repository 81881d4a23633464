/**
 * Finds every path that the arguments of a call name, to protect the runtime's own files. It reads all arguments, at
 * every depth, whatever the tool declares: a deny list is only as good as the paths it sees.
 */
import { readCommandText, type CommandText, type SimpleCommand } from '../../base/command-text.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Steps } from '../../base/steps.ts';
import type { ToolResources } from '../../tool/tool-resources.ts';
import { argumentRoleOf, type ArgumentRole } from '../sandbox/argument-role.ts';
import { decodePercent } from '../sandbox/percent-decoding.ts';
import type { PathSpelling } from '../sandbox/path-spelling.ts';
import { isInterpreter, isPlainProgram, readPlain, type FileUse } from '../sandbox/programs.ts';
import { ResourceReader } from '../sandbox/resource-reader.ts';
import { hasMarks, withoutMarks } from './relate-path.ts';

export type NamedPath = PathUse &
  (
    | { readonly type: 'path'; readonly spelling: PathSpelling }
    /** It has marks that a shell or a search tool replaces. */
    | { readonly type: 'pattern'; readonly text: string }
  );

export type PathUse = {
  readonly use: FileUse;
  /** The folder is acted upon, not only used as a starting point. */
  readonly isTarget: boolean;
  /** The path is in a command: a shell's wildcards skip hidden names. */
  readonly inCommand: boolean;
};

export type NamedPaths = {
  readonly paths: readonly NamedPath[];
  /** Directories that relative paths may start from, as the call spells them. */
  readonly directories: readonly PathSpelling[];
  /** Uses of the directory that a command runs in. */
  readonly workingDirectoryUses: readonly FileUse[];
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

const longestPath = 4_096;
/** A call that names more is denied. */
const mostCandidates = 1_500;
const mostDirectories = 16;
const mostDataTokens = 300;
const deepestText = 3;
const deepestCommand = 4;
/** Splitting a longer text is a step of its own. */
const longText = 8_192;

export function* findNamedPaths(call: NamingCall): Steps<NamedPaths> {
  const finding = new Finding(call.use, call.holdsOwnName);
  yield* finding.visitAll([{ value: call.input, key: '', role: 'other', depth: 0 }]);
  const { resources } = call;
  for (const path of resources?.paths ?? []) yield* finding.readDeclared(call.input, path, 'path');
  for (const path of resources?.commands ?? []) yield* finding.readDeclared(call.input, path, 'command');
  return finding.finish();
}

class Finding {
  readonly #use: FileUse;
  readonly #holdsOwnName: NamingCall['holdsOwnName'];
  readonly #paths = new Map<string, NamedPath>();
  readonly #directories: string[] = [];
  /** Arguments that may name a folder to start from, or a folder to act upon. */
  readonly #folders: string[] = [];
  readonly #workingDirectoryUses: FileUse[] = [];
  readonly #read = new Set<string>();
  #count = 0;
  #hasTargets = false;

  constructor(use: FileUse, holdsOwnName: NamingCall['holdsOwnName']) {
    this.#use = use;
    this.#holdsOwnName = holdsOwnName;
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
    return this.visitAll(values.map((value) => ({ value, key: keys.at(-1) ?? '', role, depth: 0 })));
  }

  *visitAll(rest: Item[]): Steps<void> {
    for (let item = rest.pop(); item !== undefined && this.#count <= mostCandidates; item = rest.pop()) {
      yield* this.#visit(item, rest);
      yield;
    }
  }

  finish(): NamedPaths {
    // Next to other paths or commands, a folder is their starting point. Alone, it is the target of the call.
    for (const folder of this.#folders) this.#add(folder, { ...this.#plain(), isTarget: !this.#hasTargets });
    const directories = new ResourceReader();
    for (const text of this.#directories) directories.readPath(expandKnown(text), true);
    return {
      paths: [...this.#paths.values()],
      directories: [...directories.paths.values()].slice(0, mostDirectories),
      workingDirectoryUses: this.#workingDirectoryUses,
      tooMany: this.#count > mostCandidates,
    };
  }

  *#visit(item: Item, rest: Item[]): Steps<void> {
    const { value, role, depth } = item;
    if (typeof value === 'string') return yield* this.#readText(value, item, rest);
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      const list = value as readonly JsonValue[];
      // The words of a command, or the components of one path.
      if (list.length > 1 && list.every((part) => typeof part === 'string')) {
        if (role === 'command' || role === 'words')
          yield* this.#readCommand(readCommandText(list.map(quote).join(' ')));
        if (list.length <= 64) this.#add(list.join('/'), this.#plain());
      }
      for (const inner of list) rest.push({ ...item, value: inner });
      return;
    }
    for (const [key, inner] of Object.entries(value)) {
      if (pathLike.test(key) || this.#holdsOwnName(key)) this.#add(key, this.#plain());
      const own = argumentRoleOf(key);
      rest.push({ value: inner, key, role: own === 'other' ? inherited(role) : own, depth });
    }
  }

  *#readText(text: string, { key, role, depth }: Item, rest: Item[]): Steps<void> {
    if (text === '') return;
    switch (role) {
      case 'directory':
        this.#directories.push(text);
        if (!/^(?:cwd|chdir|(?:work|working|current|base)[\W_]*dir(?:ectory)?)$/i.test(key))
          this.#folders.push(text);
        else this.#add(text, { ...this.#plain(), isTarget: false });
        return;
      case 'path':
        this.#hasTargets = true;
        this.#add(text, this.#plain());
        if (/\s/.test(text)) for (const token of tokensOf(text)) this.#add(token, this.#plain());
        return;
      case 'command':
      case 'words':
        this.#hasTargets = true;
        if (text.length > longText) yield 'rest';
        return yield* this.#readCommandText(text);
      case 'url':
        return this.#add(text, this.#plain());
      case 'prose':
        if (
          text.length <= longestPath &&
          pathLike.test(text) &&
          (!/\s/.test(text.trim()) || /^\s*[/~.]/.test(text))
        )
          this.#add(text.trim(), { ...this.#plain(), isTarget: false });
        return;
      case 'data':
        return;
      case 'patch':
      case 'other':
        return yield* this.#readValue(text, depth, rest);
    }
  }

  *#readValue(text: string, depth: number, rest: Item[]): Steps<void> {
    if (depth < deepestText && /^\s*[{["]/.test(text)) {
      const parsed = parseLeniently(text);
      if (parsed !== undefined) rest.push({ value: parsed, key: '', role: 'other', depth: depth + 1 });
    }
    if (text.length <= longestPath) this.#add(text.trim(), this.#plain());
    if (!/[\s"'`,;|()<>]/.test(text)) return;
    if (text.length > longText) yield 'rest';
    // A text that starts with a known program is a command, whatever its argument is called.
    const [, program = ''] = /^\s*([\w.-]+)\s/.exec(text) ?? [];
    if (isPlainProgram(program) || isInterpreter(program))
      yield* this.#readCommandText(text.slice(0, 100_000));
    // A long text is data. Only words that look like an own file are followed.
    const before = this.#count;
    for (const [index, token] of tokensOf(text).entries())
      if (index < mostDataTokens || this.#holdsOwnName(token)) {
        this.#add(token, { ...this.#plain(), isTarget: false });
        yield;
      }
    this.#count = before;
  }

  *#readCommandText(text: string): Steps<void> {
    const read = readCommandText(text);
    yield* this.#readCommand(read);
    if (read.readable) return;
    // `cat $(echo x)`: the reader may have cut the words in another place than a shell does.
    const how = { use: 'writes', isTarget: false, inCommand: true } as const;
    const known = new Set(
      flattenCommands(read.commands).flatMap(({ words, files }) => {
        const texts = words.map(({ text: word }) => word);
        // The output of `echo x` may become a path.
        const paths = readPlain(texts)?.words ?? texts;
        return [...paths, ...files.map(({ word }) => word.text)].flatMap(pathsInWord);
      }),
    );
    const before = this.#count;
    for (const token of tokensOf(text))
      if (!known.has(token) && this.#holdsOwnName(token)) {
        for (const path of pathsInWord(token)) this.#add(path, how);
        yield;
      }
    this.#count = before;
  }

  /** Reads the words of every command, also of a text that is not readable. */
  *#readCommand(text: CommandText): Steps<void> {
    const commands = flattenCommands(text.commands);
    yield commands.length > 100 ? 'rest' : undefined;
    const programs = commands.map(({ words }) => words.map((word) => word.text));
    // The output of one command may become the arguments of another: `xargs rm`.
    const feeds = programs.some(([program = '']) => isInterpreter(program) || program === 'eval');
    for (const [index, { files }] of commands.entries()) {
      const words = programs[index] ?? [];
      const plain = readPlain(words);
      const use = feeds ? 'changes' : (plain?.use ?? useOfOpaque(words));
      if (plain?.actsHere ?? actsHere(words)) this.#workingDirectoryUses.push(use);
      const how = { use, isTarget: true, inCommand: true };
      for (const word of feeds ? words : (plain?.words ?? words))
        for (const path of pathsInWord(word)) this.#add(path, how);
      for (const { word, written } of files)
        for (const path of pathsInWord(word.text))
          this.#add(path, written ? { ...how, use: 'changes' } : how);
      for (const path of movedPaths(words)) this.#add(path, { ...how, use: 'changes' });
      this.#directories.push(...changedDirectories(words));
      yield;
    }
  }

  #add(given: string, how: PathUse): void {
    // Dots and slashes that mean nothing make a path longer than it is.
    const text = given.length > 1_024 ? given.replace(/\/(?:\.?\/)+/g, '/').replace(/^(?:\.\/)+/, '') : given;
    const key = `${how.use} ${how.isTarget} ${how.inCommand} `;
    if (
      text === '' ||
      text.length > longestPath ||
      this.#count > mostCandidates ||
      this.#read.has(key + text)
    )
      return;
    this.#read.add(key + text);
    this.#count++;
    // `file=/x`, `@/x`, `https://host/?path=/x`: a path may start inside of a text.
    if (this.#holdsOwnName(text))
      for (const inner of [...pathsInWord(text), ...suffixesOf(text)])
        if (inner !== text) this.#add(inner, how);
    const expanded = expandKnown(text);
    // Outside of commands, quotes and nothing but marks are data: JSON, a template.
    if (hasMarks(expanded) && (how.inCommand || /^[^"'<>\s]*\w[^"'<>\s]*$/.test(withoutMarks(expanded))))
      this.#paths.set(`${key}pattern ${text}`, { ...how, type: 'pattern', text: expanded });
    const reader = new ResourceReader();
    reader.readPath(expanded, true);
    // Any scheme may come before a path: `sqlite:x`, `jar:file:x`.
    const bare = expanded.replace(/^(?:[a-z][a-z0-9+.-]+:)+(?:\/\/(?=\/))?/i, '');
    if (bare !== expanded && bare !== '') reader.readPath(bare.split(/[?#!]/, 1)[0] ?? '', true);
    // An allow list cannot read `/proc/self/fd/3`, a file stream or `~`. They still lead to a file.
    // Programs that read a name as C does end it at a NUL.
    const direct = [expanded.trim(), decodePercent(expanded).trim()]
      .map((one) => one.split('\0', 1)[0] ?? '')
      .map(spell);
    for (const spelling of [...reader.paths.values(), ...direct])
      this.#paths.set(`${key}${spelling.root ?? ''} ${spelling.parts.join('/')}`, {
        ...how,
        type: 'path',
        spelling,
      });
  }

  #plain(): PathUse {
    return { use: this.#use, isTarget: true, inCommand: false };
  }
}

function spell(text: string): PathSpelling {
  const root = text.startsWith('/') ? '/' : /^~(?=$|[/\\])/.test(text) ? '~' : undefined;
  const parts = (root === '~' ? text.slice(1) : text).split('/');
  return { root, parts: parts.filter((part) => part !== '' && part !== '.') };
}

/** Replaces variables whose value is known. */
const expandKnown = (text: string): string =>
  text
    .replace(/^(?:\$HOME|\$\{HOME\}|%USERPROFILE%|\$env:(?:HOME|USERPROFILE))(?=$|[/\\])/i, '~')
    .replace(/^(?:\$PWD|\$\{PWD\}|%CD%|~\+)(?=$|[/\\])/i, '.');

/** The commands, and those in the words of opaque ones: `sh -c "cat x"`. */
function flattenCommands(commands: readonly SimpleCommand[], depth = 0): readonly SimpleCommand[] {
  return commands.flatMap((command) => {
    if (depth >= deepestCommand || readPlain(command.words.map(({ text }) => text)) !== undefined)
      return [command];
    const inner = command.words.filter(({ text }) => /[\s;&|<>()`$]/.test(text));
    return [
      command,
      ...inner.flatMap(({ text }) => flattenCommands(readCommandText(text).commands, depth + 1)),
    ];
  });
}

/** One word of a list, so that a shell would read it as it is. */
const quote = (word: string): string => `'${word.replaceAll("'", `'"'"'`)}'`;

/** The texts in a word that may be a path: the word, and its parts as in `--file=x`, `if=x`, `-fx`, `host:x`, `@x`. */
function pathsInWord(word: string): readonly string[] {
  if (word === '' || word.length > longestPath) return [];
  const pieces = word.split(/[=:,@]/);
  // `-fx`, `-vfx`: the value may start after several letters.
  const bundle = /^-[a-zA-Z]{1,6}/.exec(word)?.[0] ?? '';
  const glued = Array.from({ length: Math.max(0, bundle.length - 1) }, (_, index) => word.slice(index + 2));
  return [
    word,
    ...(pieces.length > 1 ? pieces.filter((piece) => piece !== '') : []),
    ...glued.filter((piece) => piece !== ''),
  ];
}

/** The texts that start at a slash. */
const suffixesOf = (text: string): readonly string[] =>
  [...text.matchAll(/\//g)].slice(0, 64).map(({ index }) => text.slice(index));

/** An opaque command may write what it names. A few remove or move it, folders included. */
const useOfOpaque = (words: readonly string[]): FileUse =>
  words.some((word) =>
    /(?:^|\/)(?:rm|rmdir|mv|shred|unlink|truncate|chmod|chown|dd|wipe|-delete|del|clean)$/.test(word),
  )
    ? 'changes'
    : 'writes';

/** Programs that search or clean their working directory. */
const actsHere = ([program = '', ...rest]: readonly string[]): boolean =>
  /^(?:find|fd|rg|ag|ack)$/.test(program) ||
  (program === 'git' && /^(?:clean|stash|add)$/.test(rest.find((word) => !word.startsWith('-')) ?? '')) ||
  (/^[ef]?grep$/.test(program) &&
    rest.some((word) => /^-[a-z]*r|^--(?:dereference-)?recursive$/i.test(word)));

/** `cp contracts.yaml folder` makes `folder/contracts.yaml`. */
function movedPaths(words: readonly string[]): readonly string[] {
  const program = words.findIndex((word) => /(?:^|\/)(?:cp|mv|install|ln|rsync|scp)$/.test(word));
  if (program < 0) return [];
  const operands = words.slice(program + 1).filter((word) => !word.startsWith('-'));
  const option = words.findIndex((word) => word === '-t' || word === '--target-directory');
  const glued = words.find((word) => /^(?:--target-directory=|-t.)/.test(word));
  const target =
    option >= 0 ? words[option + 1] : (glued?.replace(/^(?:--target-directory=|-t)/, '') ?? operands.at(-1));
  return operands.flatMap((operand) => {
    const name = operand.split('/').findLast((part) => part !== '');
    return name === undefined || target === undefined || operand === target ? [] : [`${target}/${name}`];
  });
}

/** The directories that `cd`, `-C` and similar words name. */
const changedDirectories = (words: readonly string[]): readonly string[] =>
  words.flatMap((word, index) => {
    const changes = /^(?:cd|chdir|pushd|-C|--directory|--cwd|--prefix|--work-tree|-D|--chdir)$/.test(word);
    const glued = /^(?:-C|--(?:directory|cwd|prefix|work-tree|chdir)=)(.+)$/s.exec(word)?.[1];
    return [changes ? words[index + 1] : undefined, glued].filter((each) => each !== undefined);
  });

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

/** State for the quick check of arguments. Roles are cached, since the same names come with every call. */
export type QuickLook = {
  readonly holdsOwnName: (text: string) => boolean;
  readonly roles: Map<string, boolean>;
};

const mostRoles = 1_000;

/** A separator, a character that normalizes to one, an escape, a pattern or a variable. */
const separatorLike =
  /[/\\~%$*?[\u2024-\u2026\u2044\u2215\u29f5\u29f8\u29f9\ufe30-\ufe6f\uff00-\uffef]|(?:^|\s)\.(?:$|\s)/i;

/** Something like a separator, or a file extension. */
export const pathLike: RegExp = new RegExp(`${separatorLike.source}|\\.\\w{1,12}\\b`, 'i');

/** False if nothing in the arguments can be a path: most calls end here. */
export function mayNamePaths(value: JsonValue, look: QuickLook): boolean {
  if (typeof value === 'string') return mayNamePath(value, look);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => mayNamePaths(item as JsonValue, look));
  const members = value as JsonObject;
  for (const key in members) {
    if (!Object.hasOwn(members, key)) continue;
    const inner = members[key] as JsonValue;
    if (
      (typeof inner === 'object' ? inner !== null : typeof inner === 'string' && inner !== '') &&
      namesFiles(key, look)
    )
      return true;
    if (mayNamePath(key, look) || mayNamePaths(inner, look)) return true;
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

function namesFiles(key: string, { roles }: QuickLook): boolean {
  const known = roles.get(key);
  if (known !== undefined) return known;
  const role = argumentRoleOf(key);
  const names = role !== 'other' && role !== 'prose' && role !== 'url';
  if (roles.size < mostRoles) roles.set(key, names);
  return names;
}
