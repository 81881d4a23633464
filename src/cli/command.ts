/** A command of the program. Parsing, help and completion are all derived from it. */
import type { OsUserIdentity } from '../call/event.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ExitCode } from './exit-code.ts';
import type { ProgressBar } from './progress.ts';
import type { Environment, KeyInput, ScreenOutput, Terminal } from './terminal.ts';

export type Option = {
  /** Placeholder of the value in the help. Without it the option is a switch. */
  readonly value?: string;
  readonly help: string;
  /** The only accepted values. */
  readonly choices?: readonly string[];
  /** Can be repeated. */
  readonly multiple?: boolean;
  /** The value is a file name, for completion. */
  readonly file?: boolean;
};

/** The text of an option in the help. The accepted values come before the default. */
export function optionHelp({ help, choices }: Option): string {
  if (choices === undefined) return help;
  const end = help.indexOf('; default');
  const [start, rest] = end === -1 ? [help, ''] : [help.slice(0, end), help.slice(end)];
  return `${start}: ${choices.join(', ')}${rest}`;
}

export type Options = { readonly [name: string]: Option };

export type CliCommand = {
  readonly name: string;
  readonly summary: string;
  /** Placeholder of the arguments in the help, e.g. `<call>`. */
  readonly takes?: string;
  /** Accepted values of the first argument, if there are only a few. */
  readonly words?: readonly string[];
  /** Maximum number of arguments. */
  readonly most?: number;
  /** Further explanation, one paragraph each. */
  readonly about?: readonly string[];
  readonly options: Options;
  /** Command lines with their descriptions. */
  readonly examples: readonly (readonly [line: string, what: string])[];
  readonly run: (given: Given, context: Context) => Promise<ExitCode>;
};

/** Commands that the help lists together. */
export type Topic = { readonly title: string; readonly commands: readonly CliCommand[] };

/** The arguments, after parsing. */
export interface Given {
  readonly args: readonly string[];
  has(option: string): boolean;
  text(option: string): string | undefined;
  list(option: string): readonly string[];
  /** A whole number of at least one. */
  count(option: string): number | undefined;
}

/** The person at the terminal: where they read, and what they type. A pipe does not count as a person. */
export type Person = {
  readonly screen: Terminal;
  /** Reads a line that the person types after the prompt. Undefined if they stopped. */
  readonly readLine: (prompt: string) => Promise<string | undefined>;
};

/** Access to the outside world for a command. */
export interface Context {
  readonly out: Terminal;
  readonly err: Terminal;
  /** Aborted when the user stops the command or the reader of its output ends. */
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Opens the selected ledger for the duration of the work. Never creates one. Opens it for reading by default. */
  readonly withLedger: <Result>(
    given: Given,
    /** `meant`: the arguments, with displayed ids of sessions and tools replaced by the exact ids. */
    work: (ledger: Ledger, meant: Given) => Promise<Result>,
    access?: 'look' | 'write',
  ) => Promise<Result>;
  /** Asks the person at the terminal; undefined without a terminal. Only a yes approves. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
  /** Reads a line that the person types after the prompt; undefined without a terminal. Undefined if they stopped. */
  readonly readLine?: ((prompt: string) => Promise<string | undefined>) | undefined;
  /** The person who can confirm a decision; undefined without a terminal. */
  readonly person?: Person | undefined;
  /** Keys and screen of the person at the terminal; undefined without one. */
  readonly keyboard?: { readonly input: KeyInput; readonly output: ScreenOutput } | undefined;
  /** URL of the selected ledger, for code that opens it in another thread. With `make`, the ledger need not exist. */
  readonly ledgerUrl: (given: Given, access?: 'make') => string;
  /** Name of the user who runs the command, from the operating system. */
  readonly userName: string;
  /** The same user, as evidence for a recorded decision. */
  readonly identity: OsUserIdentity;
  readonly env: Environment;
  /** Ends the process although work is under way. Absent if the command runs inside another program. */
  readonly endNow?: ((code: ExitCode) => void) | undefined;
  readonly startProgress: (label: string, total: number) => ProgressBar;
  /** Version of this program. */
  readonly version: string;
}

/** Options of every command. */
export const commonOptions: Options = {
  ledger: {
    value: 'URL',
    help: 'Ledger: a path, sqlite:PATH or postgres://…; default: QUITTANCE_LEDGER, else ./.quittance/ledger.db',
    file: true,
  },
  help: { help: 'Show this help' },
};

export const jsonOption: Option = { help: 'JSON instead of text, one object per line, times in UTC' };
