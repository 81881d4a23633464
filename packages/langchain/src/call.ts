/** LangChain's config of a run, with the additions of a tool node. */
export type LangChainConfig = {
  readonly configurable?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly context?: unknown;
  readonly state?: unknown;
  readonly store?: unknown;
  readonly signal?: AbortSignal;
  readonly toolCall?: { readonly id?: string; readonly name: string; readonly args: unknown };
  readonly toolCallId?: string;
  /** Stops the run. On a rerun it returns the resume value. */
  readonly interrupt?: (question: never) => unknown;
  /** LangGraph 1.4: the handle on this run. */
  readonly control?: object;
};

/** LangChain's context of a call. */
export type LangChainCall = {
  readonly config: LangChainConfig;
  readonly runManager: unknown;
  /** Runs code in the context of the framework's call, so that it finds the config of the run. */
  readonly inPlace: <Result>(code: () => Result) => Result;
  /** The artifact of the tool for its application, in addition to the output. */
  artifact: unknown;
};
