/**
 * Runs command lines in real shells and compares what the shell did with what the reader of command lines said.
 *
 * A room has a scratch folder to work in, with files whose names match patterns. Its programs record their words, and
 * PATH has no others. bash runs with all builtins disabled, so that a builtin is a recording program too. The reader
 * promises the words of a command, not what the command does with them. Other shells cannot disable builtins, so lines
 * whose program runs its own words are not judged there.
 *
 * Only readable lines run: the reader promises nothing about the rest. As root the shell runs as the user `nobody`.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { programWords, type CommandText } from '../../packages/quittance/src/base/command-text.ts';
import { programs, runners } from './lines.ts';

export type Shell = { readonly name: string; readonly argv: readonly string[] };

/** bash is required. The others are used if the machine has them. */
export const shells: readonly Shell[] = [
  { name: 'bash', argv: ['bash', '--norc', '--noprofile', '-c'] },
  { name: 'bash --posix', argv: ['bash', '--norc', '--noprofile', '--posix', '-c'] },
  { name: 'dash', argv: ['dash', '-c'] },
  { name: 'busybox sh', argv: ['busybox', 'sh', '-c'] },
  { name: 'ksh', argv: ['ksh', '-c'] },
  { name: 'mksh', argv: ['mksh', '-c'] },
  { name: 'zsh', argv: ['zsh', '-f', '-c'] },
];

/** What the shell did that the reader did not say. */
export type Miss = {
  readonly line: string;
  readonly shell: string;
  readonly did: readonly string[];
  readonly said: CommandText;
};

export type Judged = 'unreadable' | 'not judged' | 'ran nothing' | 'ran' | Miss;

export type Room = {
  judge(line: string): Promise<Judged>;
  close(): void;
};

type Reader = (line: string) => CommandText;

/** The full path of the program, or undefined. */
export function findShell({ argv }: Shell): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(':');
  return folders.map((folder) => join(folder, argv[0] ?? '')).find((path) => existsSync(path));
}

const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const timeoutMs = 60_000;
/**
 * A stream that all programs of a line inherit, and that no line redirects. It closes with the last of them: some shells
 * wait only for the last program of a pipeline.
 */
const mark = 9;

export function openRoom(shell: Shell, read: Reader): Room {
  const path = findShell(shell);
  if (path === undefined) throw new Error(`${shell.name} is not installed, and this check needs it.`);
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'quittance-shell-')));
  chmodSync(base, 0o755);
  const bin = join(base, 'bin');
  const log = join(base, 'log');
  const top = join(base, 'top');
  const work = join(top, 'work');
  const start = join(base, 'start.sh');
  for (const folder of [bin, log]) mkdirSync(folder);
  const record = join(bin, 'record');
  for (const name of [...programs, ...runners, 'record']) writeProgram(join(bin, name), log);
  if (shell.name === 'bash') writeFileSync(start, startOfBash(path, record));
  fill(work, log);
  own(log);
  own(top);
  let before = look(top);

  const env = { PATH: bin, HOME: work, BASH_ENV: start, LC_ALL: 'C.UTF-8', x: 'changed x' };
  const run = async (line: string): Promise<void> =>
    new Promise((done, fail) => {
      const child = spawn(path, [...shell.argv.slice(1), line, 'shell', 'one', 'two'], {
        cwd: work,
        env,
        stdio: [...Array<'ignore'>(mark).fill('ignore'), 'pipe'],
        timeout: timeoutMs,
        killSignal: 'SIGKILL',
        ...(isRoot && { uid: nobody, gid: nobody }),
      });
      const marked = child.stdio.at(mark);
      if (marked instanceof Readable) marked.resume();
      child.once('error', fail);
      child.once('close', (_code, signal) => {
        if (signal === 'SIGKILL') fail(new Error(`${shell.name} did not end: ${JSON.stringify(line)}`));
        else done();
      });
    });

  return {
    judge: async (line) => {
      const said = read(line);
      const expected = said.readable ? expect(said) : undefined;
      if (expected === undefined) return 'unreadable';
      if (shell.name !== 'bash' && expected.commands.some(([name]) => runsItsWords(name)))
        return 'not judged';
      await run(line);
      const ran = readLog(log, bin);
      const after = look(top);
      const did = [...compareRuns(ran, expected, work), ...compareFiles(before, after, expected, top, work)];
      if (!isSame(before, after)) {
        rmSync(top, { recursive: true });
        fill(work, log);
        own(top);
        before = look(top);
      }
      if (did.length > 0) return { line, shell: shell.name, did, said };
      return ran.length === 0 ? 'ran nothing' : 'ran';
    },
    close: () => rmSync(base, { recursive: true, force: true }),
  };
}

/** A shorter line that the reader misses too: pieces are removed as long as the miss remains. */
export async function shrink(room: Room, miss: Miss): Promise<Miss> {
  let smallest = miss;
  for (let size = Math.ceil(miss.line.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < smallest.line.length;) {
      const judged = await room.judge(smallest.line.slice(0, at) + smallest.line.slice(at + size));
      if (typeof judged === 'object') smallest = judged;
      else at += size;
    }
  return smallest;
}

type Expected = {
  readonly commands: readonly (readonly string[])[];
  readonly read: readonly string[];
  readonly written: readonly string[];
};

/** Undefined if variables before a program make the line unreadable for rules. */
function expect({ commands }: CommandText): Expected | undefined {
  const words = commands.map(programWords);
  if (!words.every((each) => each !== undefined)) return undefined;
  const files = commands.flatMap((command) => command.files);
  const named = (written: boolean): readonly string[] =>
    files.filter((file) => file.written === written).map(({ word }) => word.text);
  return { commands: words, read: named(false), written: named(true) };
}

const runsItsWords = (name: string | undefined): boolean =>
  name !== undefined &&
  (runners.includes(name) || /^(?:\.|source|trap|unalias|local|readonly|typeset|let)$/.test(name));

type Ran = { readonly words: readonly string[]; readonly input: string };

function readLog(log: string, bin: string): readonly Ran[] {
  return readdirSync(log)
    .filter((name) => !name.endsWith('.input'))
    .map((name) => {
      const file = join(log, name);
      const input = existsSync(`${file}.input`) ? readFileSync(`${file}.input`, 'utf8') : '';
      const [path = '', ...words] = readFileSync(file, 'utf8').split('\0').slice(0, -1);
      for (const each of [file, `${file}.input`]) rmSync(each, { force: true });
      const program = path.startsWith(`${bin}/`) ? path.slice(bin.length + 1) : path;
      return { words: program === 'record' ? words : [program, ...words], input };
    });
}

function compareRuns(ran: readonly Ran[], { commands, read }: Expected, work: string): readonly string[] {
  const left = commands.map((words) => JSON.stringify(words));
  const readable = new Set(read.map((file) => resolveIn(work, file)));
  return ran.flatMap(({ words, input }) => {
    const did: string[] = [];
    const at = left.indexOf(JSON.stringify(words));
    if (at < 0) did.push(`ran ${JSON.stringify(words)}`);
    else left.splice(at, 1);
    const file = /^content of (.*)$/.exec(input)?.[1];
    if (file !== undefined && !readable.has(file)) did.push(`read ${file}`);
    return did;
  });
}

type Look = ReadonlyMap<string, string>;

function compareFiles(
  before: Look,
  after: Look,
  { written }: Expected,
  top: string,
  work: string,
): readonly string[] {
  const allowed = new Set(written.flatMap((file) => [resolve(work, file), resolveIn(work, file)]));
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path) && !allowed.has(path),
  );
  return changed.map((path) => `changed ${path.slice(top.length + 1)}`);
}

const isSame = (before: Look, after: Look): boolean =>
  before.size === after.size && [...before].every(([path, seen]) => after.get(path) === seen);

/** Links followed. */
function resolveIn(folder: string, file: string): string {
  const path = resolve(folder, file);
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** All entries below the folder, with what changes if a program writes to them. */
function look(folder: string): Look {
  const seen = new Map<string, string>();
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    const { mode, size, mtimeNs, ino } = lstatSync(path, { bigint: true });
    // The time of a folder changes with its entries, which are seen themselves.
    seen.set(path, entry.isDirectory() ? 'folder' : [mode, size, mtimeNs, ino].join(' '));
  }
  return seen;
}

function fill(work: string, log: string): void {
  const outside = join(work, '../outside');
  for (const folder of [outside, join(work, 'sub'), join(work, '~')]) mkdirSync(folder, { recursive: true });
  const names = ['a', 'b', 'ab', 's', 'x', '1', '2', 'b.txt', 'é', 'sub/a', 'sub/b.txt', '../outside/keep'];
  for (const name of names) writeFileSync(join(work, name), `content of ${resolve(work, name)}\n`);
  symlinkSync('a', join(work, 'link'));
  for (const name of ['tool', 'sub/tool']) writeProgram(join(work, name), log);
}

/** Records its words, then the first line of its input. Writes to both outputs, so that a redirection leaves a trace. */
function writeProgram(path: string, log: string): void {
  const ending = /\/(?:false|grep)$/.test(path) ? 1 : 0;
  const script = `#!/bin/sh
printf '%s\\0' "$0" "$@" >"${log}/$$"
IFS= read -r line 2>/dev/null
printf '%s' "$line" >"${log}/$$.input"
echo written
echo written >&2
exit ${ending}
`;
  writeFileSync(path, script, { mode: 0o755 });
}

/** All builtins off, patterns that match nothing vanish, and programs that do not exist are recorded too. */
function startOfBash(path: string, record: string): string {
  const { stdout } = spawnSync(path, ['--norc', '--noprofile', '-c', 'compgen -b'], { encoding: 'utf8' });
  const builtins = stdout.split('\n').filter((name) => name !== '' && name !== 'enable');
  if (builtins.length < 40) throw new Error('bash did not list its builtins.');
  return `command_not_found_handle() { ${record} "$@"; }
shopt -s extglob nullglob
enable -n ${builtins.join(' ')} enable
`;
}

function own(folder: string): void {
  if (!isRoot) return;
  lchownSync(folder, nobody, nobody);
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true }))
    lchownSync(join(entry.parentPath, entry.name), nobody, nobody);
}
