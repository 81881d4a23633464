/**
 * What the behavior suite needs from an adapter: an agent of the real framework with governed tools and a
 * scripted model. A harness is the default export of a module, so that a separate process can load it.
 */
import type { Runtime, RuntimeOptions } from 'quittance';
import type { OnTrouble, PreToolUse } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';

/** A tool, before it becomes one of the framework. Parameters are all required. */
export type PlainTool = {
  readonly name: string;
  /** Whether it takes any object, whatever `parameters` says. */
  readonly takesAnything?: boolean;
  readonly parameters: Readonly<Record<string, 'string' | 'number' | 'boolean'>>;
  /** `signal`: the signal that the framework passes to its tool, if any. */
  readonly run: (args: Readonly<Record<string, unknown>>, signal: AbortSignal | undefined) => unknown;
  /** Whether the tool says itself, in the words of the framework, that it needs approval. */
  readonly needsApproval?: boolean;
  /** MCP annotations, if the framework passes those of a server on with the tool. */
  readonly annotations?: Readonly<Record<string, boolean>>;
};

/** The options of the adapter. All adapters accept these. */
export type StageOptions = {
  readonly ledger?: OpenLedger;
  readonly onPreToolUse?: PreToolUse;
  readonly contracts?: NonNullable<RuntimeOptions<readonly []>['contracts']>;
  readonly overrides?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly treatments?: NonNullable<RuntimeOptions<readonly []>['treatments']>;
  readonly onConfirm?: NonNullable<RuntimeOptions<readonly []>['onConfirm']>;
  readonly onTrouble?: OnTrouble;
  readonly cancelGraceMs?: number;
  readonly trustAnnotations?: boolean;
  readonly turn?: { readonly parentSessionId?: string; readonly attrs?: Readonly<Record<string, string>> };
  readonly showConversation?: boolean;
  /** Has held calls stop the run the framework's way. */
  readonly approver?: string;
};

/** A call as the model makes it. */
export type ScriptedCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
};

/** One round of the model: calls, or a text that ends the run. */
export type Round = { readonly calls: readonly ScriptedCall[] } | { readonly text: string };

/** Rounds of a script may be functions of the earlier results. */
export type Script = readonly (Round | ((told: readonly Told[]) => Round | Promise<Round>))[];

/** The content for the model about a call, as the framework sent it. */
export type Told = {
  readonly callId: string;
  /** The text parts, in order. The first is the tabled content. */
  readonly texts: readonly string[];
  /** The error flag. Undefined if the framework has none for its model. */
  readonly isError: boolean | undefined;
};

/** How a run ended. */
export type Ran = {
  /** The last text of the model. Undefined if the run stopped before. */
  readonly text: string | undefined;
  /** All content that the model got in this run, in order. */
  readonly told: readonly Told[];
  /** Set if it stopped for an approval: the data to continue it, as JSON, for any process. */
  readonly suspended?: string;
};

export type RunOptions = {
  readonly sessionId: string;
  readonly signal?: AbortSignal;
  /** Use the streaming interface, if the framework has one. */
  readonly stream?: boolean;
};

export type Stage = {
  readonly runtime: Runtime;
  /** Runs the agent from a first message. Rejects like the framework when it is aborted. */
  run(script: Script, options: RunOptions): Promise<Ran>;
  /** Continues a run that stopped for an approval, in this process or another. */
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
   * What the framework itself does when a model reuses a call id in one run: it stops the run, skips the
   * call, sends the model one answer only, or sends the last answer for each. Undefined if it does nothing
   * special.
   */
  readonly reuse?: 'refused' | 'left out' | 'told once' | 'told the last';
  /** Does an answer name the question itself? Then a changed state cannot redirect it. */
  readonly answersQuestions?: boolean;
  /** When the framework makes the calls of one message one after the other. */
  readonly oneByOne?: 'always' | 'streaming';
  /**
   * The source of a tool's MCP annotations: a server, or the author. Undefined if the adapter gets tools
   * without any.
   */
  readonly annotations?: 'of a server' | 'of the author';
  /** Set if the framework has no denied calls: its model gets a denial as an error. */
  readonly denialIsError?: true;
  /**
   * Set if each run starts a program of the framework, which takes a second. What depends on the shared driver alone is
   * then left to the harnesses that run in this process.
   */
  readonly startsProgram?: true;
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

/** Plays a script: returns the next round once the earlier results are known. */
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
