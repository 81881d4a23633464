/** What LangChain gives a tool beside its input: the config of the run, and what a node of tools adds to it. */
export type LangChainConfig = {
  readonly configurable?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly context?: unknown;
  readonly state?: unknown;
  readonly store?: unknown;
  readonly signal?: AbortSignal;
  readonly toolCall?: { readonly id?: string; readonly name: string; readonly args: unknown };
  readonly toolCallId?: string;
  /** Stops the run, and gives what it was resumed with when it is run again. */
  readonly interrupt?: (question: never) => unknown;
  /** Of LangGraph 1.4: the handle on this run. */
  readonly control?: object;
};

/** What a call of the framework comes with. */
export type LangChainCall = {
  readonly config: LangChainConfig;
  readonly runManager: unknown;
  /** Runs code where the framework made the call, so that it finds the config of the run there. */
  readonly inPlace: <Result>(code: () => Result) => Result;
  /** What the body gives its application beside the output. */
  artifact: unknown;
};
