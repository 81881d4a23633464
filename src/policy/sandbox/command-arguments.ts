/**
 * Reads a command whose parts are in several arguments: `{command: 'git', args: ['status']}`, `{cmd, flags: {force: true}}`,
 * `{program, stdin}`. Arguments named as words are part of the command. A tool may pass every other text or list next to a
 * command to the program as well. So there are two readings, without and with these. Rules must allow both. An environment that is not harmless
 * makes the command unreadable.
 */
import {
  harmlessVariables,
  readCommandText,
  toCommandText,
  type CommandText,
} from '../../base/command-text.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { argumentRoleOf } from './argument-role.ts';

export type CommandArguments = {
  readonly texts: readonly CommandText[];
  /** The members used, so that they are not read as commands again. */
  readonly used: ReadonlySet<string>;
};

export const unreadableText: CommandText = { commands: [], readable: false };

const mostWords = 2000;
const deepest = 4;

/** Reads the members of one object together. `inCommand`: the object itself is the value of a command argument. `inShell`: the tool runs commands. */
export function readCommandArguments(
  input: JsonObject,
  inCommand: boolean,
  inShell: boolean,
): CommandArguments {
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
export function readCommand(command: string | readonly string[]): readonly CommandText[] {
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
