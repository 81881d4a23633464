import type { JsonObject, JsonValue } from '../../base/json.ts';
import { readShellName } from '../../tool/runs-commands.ts';
import { argumentRoleOf, type ArgumentRole } from './argument-role.ts';
import {
  baseOf,
  placePath,
  readBase,
  type Base,
  placeRelative,
  placeSpelling,
  type FoundPath,
} from './found-path.ts';
import { readPath, climbs } from './path-spelling.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import { ResourceReader } from './resource-reader.ts';
import { readRuns, type CommandRun, type FoundCommand, type FoundResources } from './found-resources.ts';
import {
  harmlessVariables,
  readCommandText,
  toCommandText,
  type CommandText,
} from '../../base/command-text.ts';
import { isLauncher, isPlainProgram } from './programs.ts';
import type { SpelledPath } from './resource-reader.ts';

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

/**
 * Reads a command whose parts are in several arguments: `{command: 'git', args: ['status']}`, `{cmd, flags: {force: true}}`,
 * `{program, stdin}`. Arguments named as words are part of the command. A tool may pass every other text or list next to a
 * command to the program as well. So there are two readings, without and with these. Rules must allow both. An environment that is not harmless
 * makes the command unreadable.
 */

type CommandArguments = {
  readonly texts: readonly CommandText[];
  /** The members used, so that they are not read as commands again. */
  readonly used: ReadonlySet<string>;
};

const unreadableText: CommandText = { commands: [], readable: false };

const mostWords = 2000;
const deepest = 4;

/** Reads the members of one object together. `inCommand`: the object itself is the value of a command argument. `inShell`: the tool runs commands. */
function readCommandArguments(input: JsonObject, inCommand: boolean, inShell: boolean): CommandArguments {
  const entries = Object.entries(input);
  const used = new Set<string>();
  const commands: (string | readonly string[])[] = [];
  for (const [key, value] of entries) {
    const role = argumentRoleOf(key);
    if (
      choosesProgram(key) ||
      (role !== 'command' && !(inCommand && /^(?:other|prose)$/.test(role)) && !isArgv(key, entries))
    )
      continue;
    const words = Array.isArray(value) ? toWords(value) : undefined;
    // Each of several commands stands alone.
    if (words !== undefined && /s$/i.test(key)) commands.push(...words);
    else if (words !== undefined || typeof value === 'string') commands.push(words ?? (value as string));
    else continue;
    used.add(key);
  }
  if (!inShell && isEditorVerb(commands, entries)) return { texts: [], used };
  if (commands.length === 0) {
    // Words of a command whose program is elsewhere.
    const hasWords = entries.some(([key, value]) => argumentRoleOf(key) === 'words' && isTextOrList(value));
    return { texts: hasWords ? [unreadableText] : [], used };
  }
  const words: string[] = [];
  const siblings: string[] = [];
  let isHarmless = true;
  for (const [key, value] of entries) {
    if (used.has(key) || saysNothing(key, value)) continue;
    const isWords = argumentRoleOf(key) === 'words';
    const read = choosesProgram(key) ? readShell(value) : flatten(value);
    if (read === undefined || hasStrangeEnvironment(key, value)) isHarmless = false;
    else if (!isEnvironment(key)) (isWords ? words : siblings).push(...read);
    if (isWords || choosesProgram(key)) used.add(key);
  }
  const texts = commands.flatMap((command) => [
    ...joinWords(command, words),
    ...(siblings.length === 0 ? [] : joinWords(command, [...words, ...siblings])),
  ]);
  return { texts: isHarmless ? texts : [unreadableText], used };
}

/** A tool may pass a list to the program as it is, or join it to a text. Both readings count. */
function readCommand(command: string | readonly string[]): readonly CommandText[] {
  if (typeof command === 'string') return [readCommandText(command)];
  const joined = readCommandText(command.join(' '));
  const words = joined.commands.flatMap((each) => each.words.map(({ text }) => text));
  const isSame = joined.readable && joined.commands.length === 1 && words.join('\0') === command.join('\0');
  return isSame ? [joined] : [toCommandText(command), joined];
}

function joinWords(command: string | readonly string[], siblings: readonly string[]): readonly CommandText[] {
  if (siblings.length === 0) return readCommand(command);
  if (typeof command !== 'string') return readCommand([...command, ...siblings]);
  const first = readCommandText(command);
  const [only, ...others] = first.commands;
  if (only === undefined || others.length > 0 || only.files.length > 0 || !first.readable)
    return [unreadableText];
  return readCommand([...only.words.map(({ text }) => text), ...siblings]);
}

/** Without a program next to it, `argv` is the whole command. */
const isArgv = (key: string, entries: readonly (readonly [string, JsonValue])[]): boolean =>
  /^argv$/i.test(key) && !entries.some(([other]) => argumentRoleOf(other) === 'command');

const isTextOrList = (value: JsonValue): boolean =>
  (typeof value === 'string' && value !== '') || (Array.isArray(value) && value.length > 0);

/** The words of a name: `shellPath`, `shell_path` and `SHELL-PATH` are `shell path`. */
const wordsOf = (key: string): readonly string[] =>
  key
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);

/** Directories, texts for people, ids and time limits are not part of a command. Flags and numbers name nothing. */
function saysNothing(key: string, value: JsonValue): boolean {
  if (argumentRoleOf(key) === 'directory') return true;
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null))
    return argumentRoleOf(key) !== 'words';
  return typeof value === 'string' && forPeople.has(wordsOf(key).at(-1) ?? '');
}

const forPeople: ReadonlySet<string> = new Set(
  'id ids timeout priority label description title comment comments summary note notes reason explanation thought'.split(
    ' ',
  ),
);

/** Members that choose what reads or runs the command. */
const choosesProgram = (key: string): boolean =>
  wordsOf(key).some((word) =>
    /^(?:shell|runner|language|lang|interpreter|runtime|engine|executor|launcher|wrapper|loader|kernel|image|container)$/.test(
      word,
    ),
  );

/** `{command: 'view', path: 'a.txt'}`: the verb of an editor tool that takes a path, not a program. */
const isEditorVerb = (
  commands: readonly (string | readonly string[])[],
  entries: readonly (readonly [key: string, value: JsonValue])[],
): boolean =>
  commands.length === 1 &&
  /^(?:view|create|str_replace|insert|undo_edit)$/.test(String(commands[0])) &&
  entries.some(([key]) => argumentRoleOf(key) === 'path') &&
  !entries.some(([key]) => argumentRoleOf(key) === 'words');

/** The text is read as POSIX shells read it. Undefined for another shell. */
const readShell = (value: JsonValue): readonly string[] | undefined =>
  typeof value === 'boolean' ||
  /^(?:\/(?:usr\/)?bin\/)?(?:sh|bash|dash|zsh)$/.test(typeof value === 'string' ? value : '')
    ? []
    : undefined;

/** `env`, `extraEnv`, `environment_overrides`, and single variables such as `PATH`. */
const isEnvironment = (key: string): boolean =>
  wordsOf(key).some((word) =>
    /^(?:env|envs|environ|environment|setenv|vars|variables|exports?)$/.test(word),
  ) || isVariableName(key);

const isVariableName = (key: string): boolean => /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/.test(key);

function hasStrangeEnvironment(key: string, value: JsonValue): boolean {
  const isStrange = (name: string, text: JsonValue): boolean =>
    !harmlessVariables.has(name) || !/^[\w.,:@%+ -]*$/.test(typeof text === 'object' ? '$' : String(text));
  if (typeof value !== 'object' || value === null)
    return isVariableName(key)
      ? isStrange(key, value)
      : isEnvironment(key) && typeof value === 'string' && value !== '';
  if (Array.isArray(value) && isEnvironment(key))
    return value.some((item) => {
      const [name = '', ...rest] = typeof item === 'string' ? item.split('=') : [''];
      return isStrange(name, rest.join('='));
    });
  // A table of variables may have any name.
  const isTable = isEnvironment(key) || Object.keys(value).some(isVariableName);
  return Object.entries(value).some(([name, each]) =>
    isTable && !Array.isArray(value) ? isStrange(name, each) : hasStrangeEnvironment(name, each),
  );
}

function toWords(list: readonly JsonValue[]): readonly string[] | undefined {
  return list.some((item) => typeof item === 'object' && item !== null) ? undefined : list.map(String);
}

/** Members become options: `{force: true, C: '/x'}` is `--force -C /x`. Undefined if there are too many. */
function flatten(value: JsonValue): readonly string[] | undefined {
  const words: string[] = [];
  const visit = (at: JsonValue, depth: number): boolean => {
    if (words.length > mostWords || depth > deepest) return false;
    if (at === null || at === false) return true;
    if (typeof at === 'string' && depth === 0) {
      words.push(...splitText(at));
      return true;
    }
    if (typeof at !== 'object') {
      if (at !== true) words.push(String(at));
      return true;
    }
    if (Array.isArray(at)) return at.every((item: JsonValue) => visit(item, depth + 1));
    return Object.entries(at).every(([key, inner]) => {
      const isList = argumentRoleOf(key) === 'words' || Array.isArray(inner);
      if (inner !== null && inner !== false && !isList)
        words.push(key.startsWith('-') ? key : key.length === 1 ? `-${key}` : `--${key}`);
      return visit(inner, depth + 1);
    });
  };
  return visit(value, 0) ? words : undefined;
}

/** The words of a text, or the text as one word if it cannot be read. */
function splitText(text: string): readonly string[] {
  const { commands, readable } = readCommandText(text);
  return readable && commands.length === 1 && commands[0]?.files.length === 0
    ? commands[0].words.map((word) => word.text)
    : [text];
}

/**
 * Recognizes a command by its text, if the name of its argument does not say so: `{job: 'rm -rf build'}`. A text
 * counts if it starts with a known program and continues like a command: with an option, an operator, a path.
 * Programs whose names are English words need an option, so that "make it short" stays a sentence.
 */

/** Programs of commands that must not be missed and that neither table has. */
const otherPrograms: ReadonlySet<string> = new Set(
  (
    'chgrp chown dd diskutil fdisk format halt ifconfig init insmod ip iptables kill killall launchctl mkfifo mkfs mknod ' +
    'modprobe mount netstat nft parted passwd pkill poweroff printenv ps reboot rmmod route service setfacl shred shutdown ' +
    'swapoff systemctl umount useradd userdel usermod visudo wget wipefs xxd kubectl helm terraform aws az gcloud gsutil ' +
    'heroku flyctl vercel netlify mongo apk apt apt-get brew dnf dpkg pacman snap yum zypper choco winget reg rd del erase ' +
    'icacls schtasks powershell.exe pwsh.exe gh openssl quittance'
  ).split(' '),
);

/** Programs whose names are common words. */
const englishWords: ReadonlySet<string> = new Set(
  (
    'at batch builtin cat command cut echo env eval exec expect expand file find fish fold format go halt head help ' +
    'init install ip join just kill last less link look mail make man more mount nice node parallel paste patch ' +
    'perf ping print printf reboot reg route ruby screen script seq service set shred shutdown sleep snap sort source split ' +
    'stat strings tail task tee test time timeout touch tree true truncate type unlink watch which who write yes ' +
    'swift dart crystal julia php perl python java rust docker git read local hash enable export wine sage mono scheme ' +
    'command r ex ed dc'
  ).split(' '),
);

/** Programs that destroy data or transfer rights: any word after them makes a command. */
const drastic: ReadonlySet<string> = new Set(
  'rm rmdir chmod chown chgrp dd mkfs shred wipefs fdisk sudo doas su userdel usermod visudo iptables pkill killall'.split(
    ' ',
  ),
);

const beginning =
  /^\s*(?:[$#>]\s+)?(?:[A-Za-z_]\w*=[^\s;&|]*(?:\s*[;&]+\s*|\s+))*(["']?)([\w./+~-]+)\1(?=$|[\s;&|<>])/;
const option = /(?:^|\s)(?:--?[A-Za-z][\w-]*|\/[a-z])(?=$|[\s=:,]|\d)/i;
const operator = /[|;>`]|&&|\$[({]/;
const named = /(?:^|[\s"'=@])(?:[~.]{0,2}\/|[a-z]+:\/\/|[\w-]+\/|[\w-]+\.[a-z]\w{0,4}(?:$|[\s"'])|\*)/i;

function looksLikeCommand(text: string): boolean {
  const found = beginning.exec(text);
  if (found === null) return false;
  const program = programOf(found[2] ?? '');
  if (program === undefined) return false;
  const [rest = ''] = text.slice(found[0].length).split('\n', 1);
  if (option.test(rest)) return true;
  if (drastic.has(program)) return rest.trim() !== '';
  return !englishWords.has(program) && (operator.test(rest) || named.test(rest));
}

/** The same for a list of words: `['rm', '-rf', 'build']`. */
const areWordsOfCommand = (words: readonly string[]): boolean =>
  words.length > 1 && !/\s/.test(words[0] ?? '') && looksLikeCommand(words.join(' '));

function programOf(word: string): string | undefined {
  const name = word.slice(word.lastIndexOf('/') + 1).toLowerCase();
  const isKnown = isPlainProgram(name) || isLauncher(name) || otherPrograms.has(name);
  return isKnown || name.startsWith('mkfs.') ? name : undefined;
}

/** Resolves the paths that a call names against the directories it names. */

const mostBases = 16;

/** The directories that texts name, absolute; a relative one is below the host's. */
function toBases(texts: readonly string[], worldBase: Base | undefined, world: PolicyWorld): readonly Base[] {
  const bases = new Map<string, Base>();
  for (const text of texts)
    for (const spelling of readPath(text) ?? []) {
      const start = spelling.root === undefined ? worldBase : baseOf(spelling, world);
      if (start === undefined) continue;
      const base = { root: start.root, parts: [...start.parts, ...spelling.parts] };
      bases.set(keyOf(base), base);
    }
  return [...bases.values()];
}

const keyOf = ({ root, parts }: Base): string => `${root}\0${parts.join('/')}`;

/** A climbing path may start from any directory the call names, and must stay inside from each of them. */
function placeResources(
  reader: ResourceReader,
  bases: readonly Base[],
  world: PolicyWorld,
): readonly FoundPath[] {
  const found: FoundPath[] = reader.hasUnreadablePath ? [{ type: 'unreadable' }] : [];
  const toClimbFrom = new Map(bases.map((base) => [keyOf(base), base]));
  const relative: SpelledPath[] = [];
  for (const spelling of reader.paths.values()) {
    const start = baseOf(spelling, world);
    if (start !== undefined) {
      const base = { root: start.root, parts: [...start.parts, ...spelling.parts] };
      toClimbFrom.set(keyOf(base), base);
      found.push(placeSpelling(start, spelling.parts, world));
    } else if (spelling.root === undefined) relative.push(spelling);
    else found.push({ type: 'unreadable' });
  }
  for (const spelling of relative) {
    const { parts } = spelling;
    const from = climbs(parts) && bases.length > 0 ? [...toClimbFrom.values()] : bases;
    if (from.length > mostBases) found.push({ type: 'unreadable' });
    else found.push(...placeRelative(parts, spelling.guessed, from, world));
  }
  return found;
}
