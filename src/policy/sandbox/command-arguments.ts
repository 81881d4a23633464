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

/** Reads the members of one object together. `inCommand`: the object itself is the value of a command argument. */
export function readCommandArguments(input: JsonObject, inCommand: boolean): CommandArguments {
  const entries = Object.entries(input);
  const used = new Set<string>();
  const commands: (string | readonly string[])[] = [];
  for (const [key, value] of entries) {
    const role = argumentRoleOf(key);
    if (
      /^shell$/i.test(key) ||
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
  if (commands.length === 0 || isEditorVerb(commands, entries)) return { texts: [], used };
  const words: string[] = [];
  const siblings: string[] = [];
  let isHarmless = true;
  for (const [key, value] of entries) {
    if (used.has(key) || saysNothing(key, value)) continue;
    const isShell = /^shell$/i.test(key);
    const isWords = argumentRoleOf(key) === 'words';
    const read = isShell ? readShell(value) : flatten(value);
    if (read === undefined || hasStrangeEnvironment(key, value)) isHarmless = false;
    else if (!isEnvironment(key)) (isWords ? words : siblings).push(...read);
    if (isWords || isShell) used.add(key);
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
  return command.some((word) => /[\s'"\\]/.test(word)) || !joined.readable
    ? [toCommandText(command), joined]
    : [joined];
}

function joinWords(command: string | readonly string[], siblings: readonly string[]): readonly CommandText[] {
  if (siblings.length === 0) return readCommand(command);
  if (typeof command !== 'string') return readCommand([...command, ...siblings]);
  const first = readCommandText(command);
  const [only, ...others] = first.commands;
  if (only === undefined || others.length > 0 || !first.readable) return [unreadableText];
  return readCommand([...only.words.map(({ text }) => text), ...siblings]);
}

/** Without a program next to it, `argv` is the whole command. */
const isArgv = (key: string, entries: readonly (readonly [string, JsonValue])[]): boolean =>
  /^argv$/i.test(key) && !entries.some(([other]) => argumentRoleOf(other) === 'command');

/** Directories, texts for people, ids and time limits are not part of a command. Flags and numbers name nothing. */
function saysNothing(key: string, value: JsonValue): boolean {
  const role = argumentRoleOf(key);
  if (role === 'directory' || role === 'prose') return true;
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return role !== 'words';
  return (
    /(?:^|[^a-z])(?:ids?|timeout|priority|label)$|(?:Id|Ids|Timeout)$/i.test(key) && typeof value === 'string'
  );
}

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

const isEnvironment = (key: string): boolean =>
  /^(?:env|envs|environ|environment|env_?vars?|environment_?variables?|variables)$/i.test(key);

function hasStrangeEnvironment(key: string, value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null)
    return isEnvironment(key) && typeof value === 'string' && value !== '';
  if (!isEnvironment(key))
    return Object.entries(value).some(([inner, each]) => hasStrangeEnvironment(inner, each));
  const names = Array.isArray(value)
    ? value.map((item) => (typeof item === 'string' ? (item.split('=', 1)[0] ?? '') : ''))
    : Object.keys(value);
  return !names.every((name) => harmlessVariables.has(name));
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
