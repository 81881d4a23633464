/** The program around a command: reads the arguments, runs the command, returns the exit code. */
import { readMeantOptions } from './meant-options.ts';
import { isQuittanceError, ownRemedy } from 'quittance/internal/base/error';
import { hideUrlPasswords } from 'quittance/internal/store/ledger-url';
import { openWithKey } from 'quittance/internal/store/open-ledger';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { Context } from './command.ts';
import { findCommand, parseCommandLine, unknownOption } from './command-line.ts';
import { commonOptions } from './command.ts';
import { commands, topics } from './commands.ts';
import { prove } from './proof.ts';
import { isDamage } from 'quittance/internal/replay/damage';
import type { ExitCode } from './exit-code.ts';
import { exitCodes } from './exit-code.ts';
import { describeSystemError, isSystemError } from './system-error.ts';
import { FoundLedgers } from './find-ledger.ts';
import { commandHelp, groupHelp, isGroup, programHelp } from './program-help.ts';
import { createProgress } from './progress.ts';
import { terminalText } from './terminal-text.ts';
import type { Environment, Stream, Terminal } from './terminal.ts';
import { createTerminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';
import { createInterface } from 'node:readline/promises';
import { userInfo } from 'node:os';
import type { OsUserIdentity } from 'quittance/internal/call/event';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The parts of the process that the program uses. */
export type Surroundings = {
  readonly args: readonly string[];
  readonly env: Environment;
  readonly stdout: Stream;
  readonly stderr: Stream;
  /** Aborted when the user stops the program or the reader of its output ends. */
  readonly signal: AbortSignal;
  /** Asks the person at the terminal; undefined without a terminal. */
  readonly ask?: Context['ask'];
  readonly readLine?: Context['readLine'];
  /** Reads a confirmation that the person types; undefined without a terminal. The output may be redirected. */
  readonly readTyped?: Context['readLine'];
  readonly keyboard?: Context['keyboard'];
  readonly endNow?: Context['endNow'];
};

export async function run(): Promise<void> {
  const stop = new AbortController();
  const stoppedBy = listenForStop(stop);
  const { argv, env, stdin, stdout, stderr } = process;
  // Other users of the machine can list the arguments of a process.
  if (argv.some((word) => hideUrlPasswords(word) !== word)) process.title = 'quittance';
  const { signal } = stop;
  const hasPerson = stdin.isTTY && stdout.isTTY;
  const ask: Context['ask'] = hasPerson
    ? (question) => askAtTerminal(question, stdin, stdout, signal)
    : undefined;
  const readLine: Context['readLine'] = hasPerson
    ? (prompt) => readTerminalLine(prompt, stdin, stdout, signal)
    : undefined;
  // The output may go elsewhere, as in TOKEN=$(quittance tokens create …): then the person reads the other stream.
  const shown = stdout.isTTY ? stdout : stderr;
  const readTyped: Context['readLine'] =
    stdin.isTTY && shown.isTTY ? (prompt) => readTerminalLine(prompt, stdin, shown, signal) : undefined;
  const keyboard: Context['keyboard'] = hasPerson ? { input: stdin, output: stdout } : undefined;
  const endNow: Context['endNow'] = (code) => process.exit(stoppedBy() ?? code);
  const code = await runProgram({
    args: argv.slice(2),
    env,
    stdout,
    stderr,
    signal,
    ask,
    readLine,
    readTyped,
    keyboard,
    endNow,
  });
  process.exitCode = stoppedBy() ?? code;
}

/** Runs the typed command and returns its exit code. */
export async function runProgram({
  args,
  env,
  stdout,
  stderr,
  signal,
  ask,
  readLine,
  readTyped,
  keyboard,
  endNow,
}: Surroundings): Promise<ExitCode> {
  const out = createTerminal(stdout, env, signal);
  const err = createTerminal(stderr, env, signal);
  const ledgers = new FoundLedgers();
  const context: Context = {
    out,
    err,
    signal,
    version: readVersion(),
    now: () => Date.now(),
    ask,
    readLine,
    person: readTyped && {
      screen: stderr.isTTY === true && stdout.isTTY !== true ? err : out,
      readLine: readTyped,
    },
    keyboard,
    ledgerUrl: (given, access) =>
      ledgers.find(given.text('ledger'), env['QUITTANCE_LEDGER'], access === 'make'),
    userName: env['USER'] || env['USERNAME'] || 'local',
    identity: readOsUser(),
    env,
    endNow,
    startProgress: (label, total) => createProgress(label, total, stderr),
    async withLedger(given, work, access = 'look') {
      const readOnly = access === 'look';
      const url = context.ledgerUrl(given);
      const ledger = await openUpgraded(url, readOnly, context);
      try {
        ledgers.check(url);
        return await work(ledger, await readMeantOptions(ledger, given, context.signal));
      } finally {
        await ledger.close();
      }
    },
  };
  try {
    return await runCommand(args, context);
  } catch (error) {
    return explain(error, err);
  }
}

/** Shows the progress of the upgrade of an older file. */
async function openUpgraded(
  url: string,
  readOnly: boolean,
  { startProgress }: Pick<Context, 'startProgress'>,
): Promise<OpenLedger> {
  let bar: ReturnType<Context['startProgress']> | undefined;
  let done = 0;
  const onUpgrade = ({ position, end }: { readonly position: number; readonly end: number }): void => {
    bar ??= startProgress('upgrade', end);
    bar.step(position - done);
    done = position;
  };
  try {
    return await openWithKey(url, { readOnly, migrate: false, onUpgrade }, 'look');
  } finally {
    bar?.done();
  }
}

/** Runs the typed command. */
export async function runCommand(args: readonly string[], context: Context): Promise<ExitCode> {
  const { out } = context;
  const { name, rest } = splitArguments(args);
  if (name === '--version') {
    await out.print(`quittance ${context.version}`);
    return exitCodes.good;
  }
  if (name === undefined) {
    for (const line of programHelp(topics, out)) await out.print(line);
    // No arguments is an error, so that a script that forgot the command fails.
    return args.length === 0 ? exitCodes.usage : exitCodes.good;
  }
  if (isGroup(name, commands) && rest.some((word) => word === '--help' || word === '-h')) {
    for (const line of groupHelp(name, commands, out)) await out.print(line);
    return exitCodes.good;
  }
  const command = findCommand(name, commands);
  const given = parseCommandLine(command, rest);
  if (!given.has('help')) return command.run(given, await prove(command, given, context));
  for (const line of commandHelp(command, out)) await out.print(line);
  return exitCodes.good;
}

/** The name of the command and the other arguments. Options may precede the name. */
function splitArguments(args: readonly string[]): {
  readonly name: string | undefined;
  readonly rest: readonly string[];
} {
  const before: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] as string;
    if (arg === '--version' || arg === '-V') return { name: '--version', rest: [] };
    if (arg === '--help' || arg === '-h') return { name: undefined, rest: [] };
    if (arg === '--ledger') before.push(arg, ...args.slice(++index, index + 1));
    else if (arg.startsWith('--ledger=')) before.push(arg);
    else if (arg.startsWith('-'))
      throw unknownOption(arg, { ...commonOptions, version: { help: '' } }, 'quittance help');
    else {
      const rest = args.slice(index + 1);
      const [second] = rest;
      // Some commands have names of two words.
      const isLonger = second !== undefined && !second.startsWith('-') && isGroup(arg, commands);
      return isLonger
        ? { name: `${arg} ${second}`, rest: [...before, ...rest.slice(1)] }
        : { name: arg, rest: [...before, ...rest] };
    }
  }
  return { name: undefined, rest: before };
}

/** Prints the error and a command to try. */
export async function explain(error: unknown, err: Terminal): Promise<ExitCode> {
  const say = (line: string): Promise<void> => err.print(line);
  if (error instanceof UsageError) {
    await err.say(`quittance: ${terminalText(hideUrlPasswords(error.message))}`);
    for (const line of error.details) await say(`  ${terminalText(hideUrlPasswords(line))}`);
    for (const line of error.tryThis)
      await say(`  ${err.paint('dim', 'try:')} ${terminalText(hideUrlPasswords(line))}`);
    return error.exitCode;
  }
  const message = hideUrlPasswords(
    isSystemError(error)
      ? describeSystemError(error)
      : error instanceof Error
        ? error.message
        : String(error),
  );
  const advice = isQuittanceError(error) ? ownRemedy(error) : undefined;
  await err.say(`quittance: ${terminalText([message, ...(advice === undefined ? [] : [advice])].join(' '))}`);
  if (isQuittanceError(error, 'config.invalid')) return exitCodes.usage;
  if (!isSystemError(error) && isDamage(error)) {
    await say(`  ${err.paint('dim', 'try:')} quittance verify`);
    return exitCodes.bad;
  }
  if (
    !isQuittanceError(error) &&
    !hasSystemCode(error) &&
    error instanceof Error &&
    error.stack !== undefined
  )
    for (const line of error.stack.split('\n').slice(1)) await say(terminalText(hideUrlPasswords(line)));
  return exitCodes.broken;
}

/** File and disk errors need no stack trace. */
const hasSystemCode = (error: unknown): boolean =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string';

/** Stops on the first signal; a second Ctrl-C ends the process at once. Returns the exit code for that signal. */
function listenForStop(stop: AbortController): () => ExitCode | undefined {
  let code: ExitCode | undefined;
  const listen = (signal: 'SIGINT' | 'SIGTERM' | 'SIGBREAK', stopped: ExitCode): void => {
    process.on(signal, () => {
      if (code !== undefined) process.exit(stopped);
      code = stopped;
      stop.abort();
    });
  };
  listen('SIGINT', exitCodes.interrupted);
  listen('SIGTERM', exitCodes.terminated);
  // Ctrl-Break and the end of a console on Windows. Other systems never send it.
  listen('SIGBREAK', exitCodes.terminated);
  // The reader of the output ended, as in `| head`. This is not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    stop.abort();
  });
  // A lost reader of the messages does not stop the program: a server outlives the reader of its log.
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  });
  return () => code;
}

/** Asks a question and waits for a line. Only "y" or "yes" approves; no answer or the end of the input denies. */
export async function askAtTerminal(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<boolean> {
  const answer = await readTerminalLine(`${question} [y/N] `, input, output, signal);
  return answer !== undefined && /^y(?:es)?$/i.test(answer.trim());
}

/** Reads a line. Undefined at the end of the input, or if the program is stopped. */
export async function readTerminalLine(
  prompt: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<string | undefined> {
  // The terminal splits the lines itself, so that Ctrl-C still stops the program.
  const lines = createInterface({ input, output, terminal: false });
  const ended = new AbortController();
  lines.once('close', () => ended.abort());
  try {
    return await lines.question(prompt, { signal: AbortSignal.any([signal, ended.signal]) });
  } catch {
    return undefined;
  } finally {
    lines.close();
  }
}

/** The user, as reported by the operating system, because environment variables can be faked. */

export function readOsUser(): OsUserIdentity {
  const uid = process.getuid?.();
  const known = uid === undefined ? {} : { uid };
  try {
    return { kind: 'os_user', user: userInfo().username, ...known };
  } catch {
    // A container may run under a user id without a name.
    return { kind: 'os_user', user: `uid ${uid ?? 'unknown'}`, ...known };
  }
}

/** Version of the package that contains this file, built or not. */
export function readVersion(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json');
    if (existsSync(path)) return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
    if (dirname(folder) === folder) return 'unknown';
  }
}
