/**
 * Finds the resources that a call names: paths, command lines, hosts. If a tool declares its `resources`, only those
 * are read. For any other tool all arguments are read, at every depth, including keys. The name of an argument
 * decides how (argument-role.ts), or else its value (resource-reader.ts).
 *
 * Under an allow list a doubtful value counts as a resource: declaring `resources` fixes a false alarm, but nothing
 * fixes a miss.
 */
import type { CommandText } from '../../base/command-text.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { readShellName } from '../../tool/runs-commands.ts';
import { argumentRoleOf, type ArgumentRole } from './argument-role.ts';
import { readCommand, readCommandArguments, unreadableText } from './command-arguments.ts';
import { areWordsOfCommand, looksLikeCommand } from './looks-like-command.ts';
import { baseOf, placePath, readBase, type Base } from './found-path.ts';
import { readPath } from './path-spelling.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import { ResourceReader } from './resource-reader.ts';
import { toBases, keyOf, placeResources } from './place-resources.ts';
import { readRuns, type CommandRun, type FoundCommand, type FoundResources } from './found-resources.ts';

/** JSON inside a string is walked too, up to this depth. */
const deepestText = 3;
/** More members or list elements are not parts of one path. */
const mostParts = 64;

export function findResources(call: PolicyCall, world: PolicyWorld): FoundResources {
  const finding = new Finding();
  const { resources } = call;
  if (resources === undefined) finding.guess(call.input, readShellName(call.toolName) !== 'other');
  else {
    for (const path of resources.paths ?? []) finding.readAt(call.input, path, 'path');
    for (const path of resources.commands ?? []) finding.readAt(call.input, path, 'command');
    for (const path of resources.urls ?? []) finding.readAt(call.input, path, 'url');
  }
  return finding.finish(world);
}

type Item = {
  readonly value: JsonValue;
  readonly role: ArgumentRole;
  /** Number of texts around it. */
  readonly textDepth: number;
};

type FoundLine = Omit<FoundCommand, 'runs'> & { readonly runs: readonly Omit<CommandRun, 'program'>[] };

/** The resources found so far in one call. */
class Finding {
  readonly #reader = new ResourceReader();
  readonly #lines: FoundLine[] = [];
  /** Targets of `cd`, in the order of the commands. */
  readonly #changes: string[][] = [];
  readonly #directories: string[] = [];
  #inShell = false;

  /** `runsCommands`: if no argument is named as a command, each text of the call is one. */
  guess(input: JsonObject, runsCommands: boolean): void {
    this.#inShell = runsCommands;
    const isNamed = Object.keys(input).some((key) => argumentRoleOf(key) === 'command');
    const rest: Item[] = [
      { value: input, role: runsCommands && !isNamed ? 'command' : 'other', textDepth: 0 },
    ];
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) this.#visit(item, rest);
  }

  /** Everything below the path counts, so that a list needs no `*`. */
  readAt(input: JsonObject, dottedPath: string, role: 'path' | 'command' | 'url'): void {
    let values: readonly JsonValue[] = [input];
    const keys = dottedPath.split('.');
    for (const key of keys) values = values.flatMap((value) => step(value, key));
    const isDirectory = role === 'path' && argumentRoleOf(keys.at(-1) ?? '') === 'directory';
    const rest: Item[] = values.map((value) => ({
      value,
      role: isDirectory ? 'directory' : role,
      textDepth: 0,
    }));
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) {
      const { value } = item;
      if (typeof value !== 'object' || value === null || this.#readList(item)) this.#readScalar(item, []);
      else for (const inner of Object.values(value)) rest.push({ ...item, value: inner });
    }
  }

  finish(world: PolicyWorld): FoundResources {
    const worldBase = world.workingDirectory === undefined ? undefined : readBase(world.workingDirectory);
    const declared = toBases(this.#directories, worldBase, world);
    const starts = declared.length > 0 ? declared : worldBase === undefined ? [] : [worldBase];
    const bases = [...starts, ...this.#placeChanges(starts, world)];
    // In another folder git may find a repository whose settings the agent wrote, and which name programs to run.
    const isElsewhere = worldBase !== undefined && bases.some((base) => keyOf(base) !== keyOf(worldBase));
    const commands = this.#lines.map((line) => ({
      ...line,
      runs: line.runs.map((run) => ({
        ...run,
        ...(isElsewhere && run.words[0] === 'git' && { plain: undefined }),
        program: placeProgram(run.words[0] ?? '', bases, world),
      })),
    }));
    const paths = [...placeResources(this.#reader, bases, world)];
    // A command acts on its working directory, whether it names it or not.
    if (commands.length > 0) for (const base of bases) paths.push(placePath(base, [], world));
    return { paths, commands, hosts: [...this.#reader.hosts.values()] };
  }

  #visit(item: Item, rest: Item[]): void {
    const { value } = item;
    if (typeof value !== 'object' || value === null) return this.#readScalar(item, rest);
    if (this.#readList(item)) return;
    if (Array.isArray(value)) {
      const list = value as readonly JsonValue[];
      if (item.role !== 'url' && item.role !== 'prose') this.#joinParts(list);
      for (const inner of list) rest.push({ ...item, value: inner });
      return;
    }
    const together = readCommandArguments(value as JsonObject, item.role === 'command', this.#inShell);
    for (const text of together.texts) this.#addText(text);
    this.#joinMembers(Object.entries(value));
    for (const [key, inner] of Object.entries(value)) {
      if (item.role === 'path' || item.role === 'directory') this.#reader.readPath(key, true);
      else if (item.role === 'url' || /[/\\:%.~]/.test(key)) this.#reader.readValue(key);
      const role = argumentRoleOf(key);
      // `{command: {program: 'ls'}}`: a member without a role inside a command is part of the command.
      const inherits = item.role === 'command' && (role === 'other' || role === 'prose');
      if (!together.used.has(key))
        rest.push({ value: inner, role: inherits ? 'command' : role, textDepth: item.textDepth });
    }
  }

  /** The components of one path: each alone may look harmless. */
  #joinParts(list: readonly JsonValue[]): void {
    const parts = list.filter(isNamePart);
    if (list.length < 2 || list.length > mostParts || parts.length < list.length) return;
    this.#reader.readPath(parts.join('/'), true);
  }

  /** A folder and a name in two arguments: `{dir: '.', name: '.env'}`. */
  #joinMembers(entries: readonly (readonly [string, JsonValue])[]): void {
    const texts = entries.filter((entry): entry is [string, string] => isNamePart(entry[1]));
    if (texts.length < 2 || texts.length > mostParts) return;
    const named = texts.map(([key, text]) => ({ text, role: argumentRoleOf(key) }));
    const names = named.filter(({ role }) => role === 'other' || role === 'path');
    // `{source: 'a.txt', to: 'link'}`: next to a path, a bare name may be one too.
    if (named.some(({ role }) => role === 'directory' || role === 'path'))
      for (const { text } of names) this.#reader.readPath(text, true);
    for (const { text: folder, role } of named) {
      if (role !== 'directory' && role !== 'path') continue;
      const below = names.map(({ text }) => text).filter((text) => text !== folder && !text.startsWith('/'));
      for (const text of below) this.#reader.readPath(`${folder}/${text}`, true);
      if (below.length > 1) this.#reader.readPath([folder, ...below].join('/'), true);
    }
  }

  /** A command may be a list of words; any other list is read element by element. */
  #readList({ value, role }: Item): boolean {
    if (!Array.isArray(value) || (role !== 'command' && role !== 'other')) return false;
    const words: string[] = [];
    for (const word of value as readonly JsonValue[]) {
      if (typeof word === 'object' && word !== null) return false;
      words.push(String(word));
    }
    if (role === 'other' && !areWordsOfCommand(words)) return false;
    for (const text of readCommand(words)) this.#addText(text, role === 'other');
    return true;
  }

  #readScalar({ value, role, textDepth }: Item, rest: Item[]): void {
    if (typeof value === 'number' && role === 'url') return this.#reader.readUrl(String(value));
    if (typeof value !== 'string') return;
    switch (role) {
      case 'directory':
        this.#directories.push(value);
        return this.#reader.readPath(value);
      case 'path':
        return this.#reader.readPath(value);
      case 'command':
        return this.#addTexts(value);
      case 'words':
        for (const word of value.split(/\s+/)) this.#reader.readWord(word, false);
        return this.#readValue(value, textDepth, rest);
      case 'url':
        return this.#reader.readUrl(value);
      case 'prose':
        return this.#reader.readProse(value);
      case 'patch':
        return this.#readPatch(value);
      case 'data':
        return;
      case 'other':
        return this.#readValue(value, textDepth, rest);
    }
  }

  /** The files that a patch names, in the forms of diff, git and `*** Update File:`. */
  #readPatch(text: string): void {
    const names =
      /^(?:---|\+\+\+|rename (?:from|to)|copy (?:from|to)|\*\*\* (?:Add|Update|Delete) File:|\*\*\* Move to:|Index:)[ \t]+([^\t\r\n]+)/gm;
    for (const [, name = ''] of text.matchAll(names)) {
      if (name.trim() === '/dev/null') continue;
      this.#reader.readPath(name, true);
      this.#reader.readPath(name.replace(/^"?[ab]\//, ''), true);
    }
  }

  #readValue(text: string, textDepth: number, rest: Item[]): void {
    if (textDepth < deepestText && /^\s*[{["]/.test(text) && /[}\]"]\s*$/.test(text.slice(-100))) {
      const parsed = parseLeniently(text);
      if (parsed !== undefined) rest.push({ value: parsed, role: 'other', textDepth: textDepth + 1 });
    }
    if (looksLikeCommand(text)) this.#addTexts(text, true);
    this.#reader.readValue(text);
  }

  #addTexts(text: string, guessed = false): void {
    for (const each of readCommand(text)) this.#addText(each, guessed);
  }

  #addText(text: CommandText, guessed = false): void {
    const runs = readRuns(text);
    const { commands, readable } = runs === undefined ? unreadableText : text;
    const chained = commands.length > 1 || commands.some(({ files }) => files.length > 0);
    this.#lines.push({ readable, chained, guessed, runs: runs ?? [] });
    if (!readable) return;
    const changes: string[] = [];
    for (const run of runs ?? []) this.#readRun(run, changes);
    for (const { word } of commands.flatMap(({ files }) => files))
      if (word.text !== '/dev/null') this.#reader.readPath(word.text);
    if (changes.length > 0) this.#changes.push(changes);
  }

  #readRun({ words, plain }: Omit<CommandRun, 'program'>, changes: string[]): void {
    const [program = '', ...rest] = words;
    for (const word of plain?.words ?? rest)
      if (word !== '/dev/null') this.#reader.readWord(word, plain !== undefined && plain.hosts.length === 0);
    for (const host of plain?.hosts ?? []) this.#reader.readUrl(host);
    if (program !== 'cd' && program !== 'pushd') return;
    const target = rest.find((word) => !/^(?:-[LPe@]+|--)$/.test(word));
    // Without a target it is the home directory, with `-` the previous one.
    if (target === undefined || target === '-') this.#reader.hasUnreadablePath = true;
    else changes.push(target);
  }

  #placeChanges(starts: readonly Base[], world: PolicyWorld): readonly Base[] {
    const reached = new Map<string, Base>();
    for (const changes of this.#changes)
      for (const start of starts) {
        let at = start;
        for (const text of changes)
          for (const spelling of readPath(text) ?? []) {
            const from = spelling.root === undefined ? at : baseOf(spelling, world);
            if (from === undefined) continue;
            at = { root: from.root, parts: [...from.parts, ...spelling.parts] };
            reached.set(keyOf(at), at);
          }
      }
    return [...reached.values()];
  }
}

const step = (value: JsonValue, key: string): readonly JsonValue[] => {
  if (typeof value !== 'object' || value === null) return [];
  if (key === '*') return Object.values(value);
  const found = Object.getOwnPropertyDescriptor(value, key)?.value as JsonValue | undefined;
  return found === undefined || (Array.isArray(value) && key === 'length') ? [] : [found];
};

/** A text with marks that file names seldom have is not part of a path. */
const isNamePart = (value: JsonValue): value is string =>
  typeof value === 'string' && value.length <= 255 && /^[\p{L}\p{N}\p{M} ._@%+,~()=/-]*$/u.test(value);

function placeProgram(first: string, bases: readonly Base[], world: PolicyWorld): CommandRun['program'] {
  if (!first.includes('/')) return [];
  const reader = new ResourceReader();
  reader.readPath(first, true);
  return placeResources(reader, bases, world);
}

function parseLeniently(text: string): JsonValue | undefined {
  try {
    // JSON.parse returns a JSON value.
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
