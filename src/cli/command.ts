/** What a command of the tool is: everything its parsing, its help and its completion are made from. */
import type { OsUserIdentity } from '../call/event.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ExitCode } from './exit-code.ts';
import type { ProgressBar } from './progress.ts';
import type { Terminal } from './terminal.ts';

export type Option = {
  /** What stands for the value in the help; without it the option is a switch. */
  readonly value?: string;
  readonly help: string;
  /** The only values it takes. */
  readonly choices?: readonly string[];
  /** May be given more than once. */
  readonly multiple?: boolean;
  /** Names a file, for completion. */
  readonly file?: boolean;
};

export type Options = { readonly [name: string]: Option };

export type CliCommand = {
  readonly name: string;
  readonly summary: string;
  /** What stands for the arguments in the help, e.g. `<call>`. */
  readonly takes?: string;
  /** What its first argument may be, where that is one of a few words. */
  readonly words?: readonly string[];
  /** How many arguments it takes. */
  readonly most?: number;
  /** What else there is to know, a paragraph each. */
  readonly about?: readonly string[];
  readonly options: Options;
  /** What to type, and what that does. */
  readonly examples: readonly (readonly [line: string, what: string])[];
  readonly run: (given: Given, context: Context) => Promise<ExitCode>;
};

/** What was typed, after it was found to be understood. */
export interface Given {
  readonly args: readonly string[];
  has(option: string): boolean;
  text(option: string): string | undefined;
  list(option: string): readonly string[];
  /** A whole number of at least one. */
  count(option: string): number | undefined;
}

/** What a command may use of the world. */
export interface Context {
  readonly out: Terminal;
  readonly err: Terminal;
  /** Aborted when somebody stops the command, or nobody reads it any more. */
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Opens the ledger that was named, for as long as the work takes. Never makes one; to look at it unless told. */
  readonly withLedger: <Result>(
    given: Given,
    /** `meant`: what was given, with the exact ids of sessions and tools that were typed as they are shown. */
    work: (ledger: Ledger, meant: Given) => Promise<Result>,
    access?: 'look' | 'write',
  ) => Promise<Result>;
  /** Asks whoever sits at the terminal; undefined where nobody does. Anything but a yes is a no. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
  /** The ledger that was named, for whoever opens it elsewhere: in a thread of its own. One that may be made need not be there. */
  readonly ledgerUrl: (given: Given, access?: 'make') => string;
  /** Who runs the command, as the machine knows them. */
  readonly userName: string;
  /** The same as evidence: the user of the operating system who typed the command. */
  readonly identity: OsUserIdentity;
  readonly startProgress: (label: string, total: number) => ProgressBar;
  /** The version of this program. */
  readonly version: string;
}

/** Known everywhere. */
export const commonOptions: Options = {
  ledger: {
    value: 'URL',
    help: 'The ledger: a path or sqlite:PATH. Else QUITTANCE_LEDGER, else ./.quittance/ledger.db',
    file: true,
  },
  help: { help: 'Explain the command' },
};

export const jsonOption: Option = { help: 'JSON instead of text, one object to a line, times in UTC' };
