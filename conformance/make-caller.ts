/** What makes the calls of a case: a runtime by itself, or an adapter around one. */
import type { JsonObject, Runtime, RuntimeOptions, ToolOutcome } from 'quittance';
import type { Ledger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';

/** Everything that is asked for by a case. Its tools take any object. */
export type CallerOptions = Pick<RuntimeOptions<[]>, 'contracts' | 'treatments' | 'onConfirm'> & {
  readonly tools: readonly { readonly name: string; readonly run: () => unknown }[];
  readonly ledger: Ledger;
  readonly turn: { readonly parentSessionId?: string };
};

export type Caller = {
  readonly runtime: Runtime;
  /** Makes one call, in a turn of its own: guards against calls that repeat themselves in a turn are another matter. */
  readonly makeCall: (call: {
    readonly sessionId: string;
    readonly id: string;
    readonly name: string;
    readonly arguments: JsonObject;
  }) => Promise<ToolOutcome>;
};

export type MakeCaller = (options: CallerOptions) => Promise<Caller>;

/** Straight on a runtime. */
export const callRuntime: MakeCaller = async ({ tools, turn, ...options }) => {
  const runtime: Runtime = createRuntime({
    ...options,
    tools: tools.map(({ name, run }) => defineTool({ name, mode: 'external', run })),
  });
  return {
    runtime,
    makeCall: ({ sessionId, ...call }) =>
      runtime
        .turn({ sessionId, ...turn })
        .submit(call)
        .outcome(),
  };
};
