/**
 * Reads one command that is spread over several arguments: `{command: 'git', args: ['status']}`, `{program, argv}`,
 * `{cmd, flags: {force: true}}`, `{shell: 'bash', command: 'ls'}`, possibly with an environment. It returns every way
 * to combine the words, and rules must allow all of them.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { argumentRoleOf } from './argument-role.ts';
import { readArgumentList, readCommandLine, unreadableLine, type CommandLine } from './command-line.ts';
import { harmlessVariables } from './programs/harmless-variables.ts';

export type CommandArguments = {
  readonly lines: readonly CommandLine[];
  /** The members used, so that they are not read as commands again. */
  readonly used: ReadonlySet<string>;
};

const nothing: CommandArguments = { lines: [], used: new Set() };
const mostWords = 2000;

/** Reads the members of one object together. `inCommand`: the object itself is the value of a command argument. */
export function readCommandArguments(input: JsonObject, inCommand: boolean): CommandArguments {
  const programs: (readonly [key: string, text: string])[] = [];
  const wordLists: (readonly string[])[] = [];
  const used = new Set<string>();
  let shell: string | undefined;
  let hasStrangeVariables = false;
  const entries = Object.entries(input);
  const lines: CommandLine[] = [];
  for (const [key, value] of entries) {
    const role = argumentRoleOf(key);
    // Each of several commands stands alone.
    if (
      Array.isArray(value) &&
      role === 'command' &&
      /s$/i.test(key) &&
      value.every((item) => typeof item === 'string')
    ) {
      for (const item of value) lines.push(readCommandLine(item));
      used.add(key);
    }
    const isProgram = role === 'command' || (inCommand && role === 'other');
    if (isProgram && typeof value === 'string') {
      if (/^shell$/i.test(key)) shell = value;
      else programs.push([key, value]);
    }
  }
  if (shell !== undefined && programs.length === 0) programs.push(['shell', shell]);
  if (programs.length === 0) {
    const argv = readArgv(input);
    return { lines: [...lines, ...argv.lines], used: new Set([...used, ...argv.used]) };
  }
  if (isEditorVerb(programs, entries)) return { lines, used: new Set(['command']) };
  const [first = ''] = programs[0]?.[1].trim().split(/\s+/, 1) ?? [];
  for (const [key, value] of entries) {
    if (used.has(key) || programs.some(([name]) => name === key)) continue;
    if (isEnvironment(key)) {
      if (!isHarmlessEnvironment(value)) hasStrangeVariables = true;
      continue;
    }
    const words = readWords(key, value, first);
    if (words === undefined) continue;
    if (words.length > 0) wordLists.push(words);
    used.add(key);
  }
  for (const [key] of programs) used.add(key);
  if (shell !== undefined) used.add('shell');
  const tails = wordLists.length > 1 ? [wordLists, wordLists.toReversed()] : [wordLists];
  if (hasStrangeVariables) lines.push(unreadableLine);
  for (const [, text] of programs)
    for (const tail of tails) lines.push(...joinWords(text, tail.flat(), shell));
  return { lines, used };
}

/** `{command: 'view', path: 'a.txt'}`: the verb of an editor tool that takes a path, not a program. */
const isEditorVerb = (
  programs: readonly (readonly [key: string, text: string])[],
  entries: readonly (readonly [key: string, value: JsonValue])[],
): boolean =>
  programs.length === 1 &&
  programs[0]?.[0] === 'command' &&
  /^(?:view|create|str_replace|insert|undo_edit)$/.test(programs[0][1]) &&
  entries.some(([key]) => argumentRoleOf(key) === 'path') &&
  !entries.some(([key]) => argumentRoleOf(key) === 'words');

/** Without a program next to it, `argv` is the whole command. */
function readArgv(input: JsonObject): CommandArguments {
  const entry = Object.entries(input).find(([key]) => /^argv$/i.test(key));
  if (entry === undefined || !Array.isArray(entry[1])) return nothing;
  const words = readWords(entry[0], entry[1], '');
  if (words === undefined || words.length === 0) return nothing;
  return { lines: readArgumentList(words), used: new Set([entry[0]]) };
}

function joinWords(text: string, tail: readonly string[], shell: string | undefined): readonly CommandLine[] {
  const line = readCommandLine(text);
  if (shell !== undefined && shell !== text) return readArgumentList([shell, '-c', text, ...tail]);
  if (tail.length === 0) return [line];
  if (!line.plain) return [unreadableLine];
  const rest = readArgumentList(tail);
  return rest.map((more) =>
    more.plain ? { plain: true, words: [...line.words, ...more.words] } : unreadableLine,
  );
}

const isEnvironment = (key: string): boolean =>
  /^(?:env|envs|environ|environment|env_?vars?|environment_?variables?|variables)$/i.test(key);

function isHarmlessEnvironment(value: JsonValue): boolean {
  if (value === null || typeof value !== 'object')
    return value === null || typeof value !== 'string' || value === '';
  const names = Array.isArray(value)
    ? value.map((item) => (typeof item === 'string' ? (item.split('=', 1)[0] ?? '') : ''))
    : Object.keys(value);
  return names.every((name) => harmlessVariables.has(name));
}

/** Undefined for a member that contains no words of the command. */
function readWords(key: string, value: JsonValue, program: string): readonly string[] | undefined {
  const role = argumentRoleOf(key);
  const mayBeWords = /^(?:options|opts|params|parameters|switches|extra|rest|additional)/i.test(key);
  if (typeof value === 'string') {
    if (role !== 'words' && !(role === 'other' && /^\s*[-+]/.test(value))) return undefined;
    const line = readCommandLine(value);
    // A text that is not plain stays one word, which no list of words may contain.
    return line.plain ? line.words.map(({ text }) => text) : [value];
  }
  if (Array.isArray(value)) {
    if (role !== 'words' && role !== 'other') return undefined;
    const words = flatten(value);
    if (words === undefined) return undefined;
    // Some interfaces repeat the program as the first word.
    return /^argv$/i.test(key) && words[0] === program ? words.slice(1) : words;
  }
  if (typeof value === 'object' && value !== null && (role === 'words' || mayBeWords)) return flatten(value);
  return undefined;
}

/** Members become options: `{force: true, C: '/x'}` is `--force -C /x`. Undefined if there are too many. */
function flatten(value: JsonValue): readonly string[] | undefined {
  const words: string[] = [];
  const visit = (at: JsonValue, depth: number): boolean => {
    if (words.length > mostWords || depth > 4) return false;
    if (at === null || at === false) return true;
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
