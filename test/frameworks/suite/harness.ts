/**
 * What the behavior suite needs of an adapter: an agent of the real framework, its tools governed, its model scripted.
 * A harness is a module whose default export is one, so that a process of its own can load it.
 */
import type { Runtime, RuntimeOptions } from 'quittance';
import type { OnTrouble, PreToolUse } from 'quittance/runtime';
import type { Ledger } from 'quittance/store';

/** A tool, before it becomes one of the framework. Parameters are all required. */
export type PlainTool = {
  readonly name: string;
  /** Whether it takes any object, whatever `parameters` says. */
  readonly takesAnything?: boolean;
  readonly parameters: Readonly<Record<string, 'string' | 'number' | 'boolean'>>;
  /** `signal` is what the framework gives its tool to hear of the end by. */
  readonly run: (args: Readonly<Record<string, unknown>>, signal: AbortSignal | undefined) => unknown;
  /** Whether the tool says itself, in the words of the framework, that it needs approval. */
  readonly needsApproval?: boolean;
  /** MCP annotations, where the framework hands those of a server over with the tool. */
  readonly annotations?: Readonly<Record<string, boolean>>;
};

/** What the adapter is made with. All of them take these. */
export type StageOptions = {
  readonly ledger?: Ledger;
  readonly onPreToolUse?: PreToolUse;
  readonly contracts?: NonNullable<RuntimeOptions<readonly []>['contracts']>;
  readonly overrides?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly treatments?: NonNullable<RuntimeOptions<readonly []>['treatments']>;
  readonly onConfirm?: NonNullable<RuntimeOptions<readonly []>['onConfirm']>;
  readonly onTrouble?: OnTrouble;
  readonly cancelGraceMs?: number;
  readonly trustAnnotations?: boolean;
  readonly turn?: { readonly parentSessionId?: string };
  /** Has held calls stop the run the framework's way. */
  readonly approver?: string;
};

/** A call as the model makes it. */
export type ScriptedCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
};

/** What the model says in one round: calls, or a text that ends the run. */
export type Round = { readonly calls: readonly ScriptedCall[] } | { readonly text: string };

/** A script may wait for what the model was told: rounds may be functions of that. */
export type Script = readonly (Round | ((told: readonly Told[]) => Round | Promise<Round>))[];

/** What the model was told about a call, as the framework sent it to the model. */
export type Told = {
  readonly callId: string;
  /** The text parts, in order. The first is the tabled content. */
  readonly texts: readonly string[];
  /** The error flag; undefined where the framework has none for its model. */
  readonly isError: boolean | undefined;
};

/** How a run ended. */
export type Ran = {
  /** The last text of the model; undefined where the run stopped before. */
  readonly text: string | undefined;
  /** Everything the model was told in this run, in order. */
  readonly told: readonly Told[];
  /** Where it stopped for an approval: what the framework needs to go on, as JSON, for any process. */
  readonly suspended?: string;
};

export type RunOptions = {
  readonly sessionId: string;
  readonly signal?: AbortSignal;
  /** By the streaming interface, where the framework has one. */
  readonly stream?: boolean;
};

export type Stage = {
  readonly runtime: Runtime;
  /** Runs the agent from a first message. Rejects as the framework does, where it is aborted. */
  run(script: Script, options: RunOptions): Promise<Ran>;
  /** Goes on with a run that stopped for an approval, in this process or another. */
  resume?(
    suspended: string,
    answer: { readonly approved: boolean; readonly reason?: string },
    script: Script,
    options: RunOptions,
  ): Promise<Ran>;
};

export type Harness = {
  readonly name: string;
  /** `import.meta.url` of the module, for processes of their own. */
  readonly module: string;
  /** Whether `stream` means anything. */
  readonly streams: boolean;
  /** Whether a run can stop for an approval the framework's own way. Then its stages have `resume`. */
  readonly suspends: boolean;
  /**
   * What the framework itself does where a model uses a call id again in one run: it stops the run, leaves the call out,
   * tells the model one answer only, or tells it the last answer for each. Undefined where it does not mind.
   */
  readonly reuse?: 'refused' | 'left out' | 'told once' | 'told the last';
  /** Whether an answer names the question itself, so that a state somebody changed has no say in what it is about. */
  readonly answersQuestions?: boolean;
  /** Where the framework makes the calls of one message one after the other. */
  readonly oneByOne?: 'always' | 'streaming';
  /**
   * Whose words MCP annotations of a tool are: those of a server, or those of the author. Undefined where the adapter
   * gets tools without any.
   */
  readonly annotations?: 'of a server' | 'of the author';
  /** Set where the framework knows no denied call: its model is told of one as of an error. */
  readonly denialIsError?: true;
  /** Makes an agent of these tools by the adapter's own door. */
  start(tools: readonly PlainTool[], options: StageOptions): Promise<Stage>;
};

/** The parameters as JSON Schema, for frameworks that take that. */
export const toJsonSchema = ({ parameters, takesAnything = false }: PlainTool) => ({
  type: 'object' as const,
  properties: Object.fromEntries(Object.entries(parameters).map(([name, type]) => [name, { type }])),
  required: Object.keys(parameters),
  additionalProperties: takesAnything,
});

/** Plays a script: the next round, once it is known what the model was told. */
export function createPlayer(script: Script): {
  readonly next: (told: readonly Told[]) => Promise<Round>;
} {
  let at = 0;
  return {
    async next(told) {
      const round = script[at++] ?? { text: 'The script is over.' };
      return typeof round === 'function' ? round(told) : round;
    },
  };
}
