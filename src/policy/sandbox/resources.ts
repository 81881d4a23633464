/**
 * Finds the resources that a call names: paths, command lines, hosts. If a tool declares its `resources`, only those
 * are read. For any other tool all arguments are read, at every depth, including keys. The name of an argument
 * decides how (argument-role.ts), or else its value (resource-reader.ts).
 *
 * Under an allow list a doubtful value counts as a resource: declaring `resources` fixes a false alarm, but nothing
 * fixes a miss.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { argumentRoleOf, type ArgumentRole } from './argument-role.ts';
import { readCommandArguments } from './command-arguments.ts';
import {
  areWordsOfCommand,
  beginsWithProgram,
  looksLikeCommand,
  runsCommandsByName,
} from './looks-like-command.ts';
import {
  commandsInLine,
  readArgumentList,
  readCommandLine,
  unreadableLine,
  type CommandLine,
  type ShellWord,
} from './command-line.ts';
import { baseOf, placePath, readBase, type Base, type FoundPath } from './found-path.ts';
import { readPath } from './path-spelling.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import { ResourceReader } from './resource-reader.ts';
import { readRun, type ProgramRun } from './run-programs.ts';
import { toBases, keyOf, placeResources } from './place-resources.ts';
import type { FoundResources, FoundCommand } from './found-resources.ts';
import { dataWords } from './data-words.ts';
import { fileReaders } from './file-readers.ts';

/** JSON inside a string is walked too, up to this depth. */
const deepestText = 3;

export function findResources(call: PolicyCall, world: PolicyWorld): FoundResources {
  const finding = new Finding(runsCommandsByName(call.toolName));
  const { resources } = call;
  if (resources === undefined) finding.guess(call.input);
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

/** The resources found so far in one call. */
class Finding {
  readonly #reader = new ResourceReader();
  readonly #lines: Omit<FoundCommand, 'program'>[] = [];
  /** Targets of `cd`, in the order of the commands. */
  readonly #changes: string[][] = [];
  readonly #directories: string[] = [];
  #hasOperators = false;
  readonly #runsCommands: boolean;

  constructor(runsCommands: boolean) {
    this.#runsCommands = runsCommands;
  }

  guess(input: JsonObject): void {
    const rest: Item[] = [{ value: input, role: 'other', textDepth: 0 }];
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
    const program = (runs: FoundCommand['runs']): readonly FoundPath[] =>
      (runs ?? []).flatMap(({ words: [first] }) => {
        if (first === undefined || !first.text.includes('/')) return [];
        const reader = new ResourceReader();
        reader.readPath(first.text, true);
        return placeResources(reader, bases, world);
      });
    const commands: FoundCommand[] = this.#lines.map((each) => ({ ...each, program: program(each.runs) }));
    if (this.#hasOperators && commands.length > 0)
      commands.push({ line: unreadableLine, guessed: false, runs: undefined, program: [] });

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
      // The components of one path: each alone may look harmless.
      if (value.includes('..') && value.every((part) => typeof part === 'string'))
        this.#reader.readPath(value.join('/'), true);
      for (const inner of value) rest.push({ ...item, value: inner });
      return;
    }
    const together = readCommandArguments(value as JsonObject, item.role === 'command');
    for (const line of together.lines) this.#addLine(line);
    for (const [key, inner] of Object.entries(value)) {
      if (item.role === 'path' || item.role === 'directory') this.#reader.readPath(key, true);
      else if (item.role === 'url' || /[/\\:%.~]/.test(key)) this.#reader.readValue(key);
      const role = argumentRoleOf(key);
      // `{command: {program: 'ls'}}`: a member without a role inside a command is part of the command.
      const inherits = role === 'other' && item.role === 'command';
      if (!together.used.has(key))
        rest.push({ value: inner, role: inherits ? 'command' : role, textDepth: item.textDepth });
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
    for (const line of readArgumentList(words)) this.#addLine(line, role === 'other' && !this.#runsCommands);
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
        return this.#addLine(readCommandLine(value));
      case 'words':
        if (readArgumentList([value]).some(({ plain }) => !plain)) this.#hasOperators = true;
        for (const word of value.split(/\s+/)) this.#reader.readWord(word, false);
        return this.#readValue(value, textDepth, rest);
      case 'url':
        return this.#reader.readUrl(value);
      case 'prose':
        if (this.#runsCommands && beginsWithProgram(value)) this.#addLine(readCommandLine(value));
        return this.#reader.readProse(value);
      case 'other':
        return this.#readValue(value, textDepth, rest);
    }
  }

  #readValue(text: string, textDepth: number, rest: Item[]): void {
    if (textDepth < deepestText && /^\s*[{["]/.test(text) && /[}\]"]\s*$/.test(text.slice(-100))) {
      const parsed = parseLeniently(text);
      if (parsed !== undefined) rest.push({ value: parsed, role: 'other', textDepth: textDepth + 1 });
    }
    if (this.#runsCommands ? beginsWithProgram(text) : looksLikeCommand(text))
      this.#addLine(readCommandLine(text), !this.#runsCommands);
    this.#reader.readValue(text);
  }

  #addLine(line: CommandLine, guessed = false): void {
    const commands = commandsInLine(line);
    const runs: ProgramRun[] = [];
    let readable = commands !== undefined;
    const changes: string[] = [];
    for (const { words, files } of commands ?? []) {
      const run = readRun(words);
      if (run === undefined) readable = false;
      else {
        runs.push(run);
        this.#readRun(run);
        if (run.words[0]?.text === 'cd' || run.words[0]?.text === 'pushd') {
          const target = run.words.find(({ text }, index) => index > 0 && !/^-[LPe@]$/.test(text));
          // Without a target it is the home directory, with `-` the previous one.
          if (target === undefined || target.wildcard || target.text === '-')
            this.#reader.hasUnreadablePath = true;
          else changes.push(target.text);
        }
      }
      for (const file of files) this.#readRedirect(file);
    }
    if (changes.length > 0) this.#changes.push(changes);
    this.#lines.push({ line, guessed, runs: readable ? runs : undefined });
  }

  /** The words of a command, and of the commands it runs. */
  #readRun(run: ProgramRun): void {
    const { words, inner, data } = run;
    const program = words[0]?.text ?? '';
    const isData = dataWords(inner, data);
    for (const [index, { text, wildcard }] of words.entries()) {
      if (index === 0 || (isData(index) && !wildcard)) continue;
      if (!wildcard) this.#reader.readWord(text, fileReaders.has(program));
      else if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) this.#reader.readUrl(text);
      // This could only match files that start like an option, which are inside the working directory.
      else if (!text.startsWith('-') || /[/~]/.test(text)) this.#reader.readPattern(text);
    }
    this.#readInside(run);
  }

  /** What the words do not show by themselves. The words of a command inside another are read with the outer one. */
  #readInside({ inner, hosts, readsNames }: ProgramRun): void {
    if (readsNames) this.#reader.hasUnreadablePath = true;
    for (const host of hosts) this.#reader.readUrl(host);
    for (const { runs, fromText } of inner)
      for (const run of typeof runs === 'object' ? runs : [])
        if (fromText) this.#readRun(run);
        else this.#readInside(run);
  }

  #readRedirect({ text, wildcard }: ShellWord): void {
    if (text === '/dev/null') return;
    if (wildcard) this.#reader.hasUnreadablePath = true;
    else this.#reader.readPath(text);
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

function parseLeniently(text: string): JsonValue | undefined {
  try {
    // JSON.parse returns a JSON value.
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
