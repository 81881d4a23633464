/** A command of the program. Parsing, help and completion are all derived from it. */
import type { DirectIdentity, OsUserIdentity } from 'quittance/internal/call/event';
import type { Actor } from '@quittance/server/internal/http/actor';
import type { Role } from '@quittance/server/internal/http/api/role';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
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
  /** What it does to what exists, by its arguments. The program asks for the proof that this needs before it runs. */
  readonly effect: Effect | ((given: Given, context: Context) => Effect | Promise<Effect>);
  readonly run: (given: Given, context: Context) => Promise<ExitCode>;
};

export type Effect =
  /** Changes nothing. Such a command cannot open a ledger for writing. */
  | { readonly kind: 'reads' }
  /** Adds something: calls, files, a new ledger. It decides, removes and reveals nothing. */
  | { readonly kind: 'makes' }
  /** Runs a server that people decide through. A process that makes calls cannot start it. */
  | { readonly kind: 'serves'; readonly ledgerUrl: string }
  /** Decides about calls, gives or takes rights, removes evidence or reveals secrets. */
  | ({ readonly kind: 'decides' } & Needs)
  /** The same at a server, which checks a given token itself. */
  | { readonly kind: 'decides_at_server'; readonly line: string };

export const reads: Effect = { kind: 'reads' };
export const makes: Effect = { kind: 'makes' };

/** The proof that a command needs. */
export type Needs = {
  /** The role that a token needs, as over HTTP. */
  readonly role: Role;
  /** Name to record for a person at a terminal who gave no `--by`. Without it, `--by` is required. */
  readonly byDefault?: string;
  /** Ledgers of the decision, if the options do not name it. */
  readonly ledgerUrls?: readonly string[];
  /** A complete command, for messages. */
  readonly line: string;
  /** What the person confirms. Without it, the command asks when it knows what to ask: see `Proof.confirm`. */
  readonly asks?: Asked;
};

export type Asked = { readonly question: string; readonly word: string; readonly always?: boolean };

/** The name and the identity that an act is recorded with. */
export type Decider = { readonly by: string; readonly identity: DirectIdentity };

export type Proof = {
  /** The holder of the given token; undefined if a person confirms at the terminal. */
  readonly actor: Actor | undefined;
  /** Who decides, if the person confirmed already or the screen takes confirmations by itself. Others use `confirm`. */
  readonly decider: Decider;
  /**
   * Who decides. Asks the person at the terminal to type the word; undefined if they typed something else. The holder of
   * a token is asked only with `always`, if there is a terminal.
   */
  readonly confirm: (asked: Asked) => Promise<Decider | undefined>;
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
    work: (ledger: OpenLedger, meant: Given) => Promise<Result>,
    access?: 'look' | 'write',
  ) => Promise<Result>;
  /** Asks the person at the terminal; undefined without a terminal. Only a yes approves. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
  /** Reads a line that the person types after the prompt; undefined without a terminal. Undefined if they stopped. */
  readonly readLine?: ((prompt: string) => Promise<string | undefined>) | undefined;
  /** The proof that the effect of the command needs. See `proofOf`. */
  readonly proof?: Proof;
  /** Does the person or the token confirm a decision at a server? */
  readonly isConfirmed?: (asked: Asked) => Promise<boolean>;
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
