/** Makes the calls of a case: with a plain runtime, or with an adapter around one. */
import type { JsonObject, Runtime, RuntimeOptions, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';

/** The settings of a case. Its tools accept any object. */
export type CallerOptions = Pick<RuntimeOptions<[]>, 'contracts' | 'treatments' | 'onConfirm'> & {
  readonly tools: readonly { readonly name: string; readonly run: () => unknown }[];
  readonly ledger: OpenLedger;
  readonly turn: { readonly parentSessionId?: string };
};

export type Caller = {
  readonly runtime: Runtime;
  /** Makes one call in its own turn, because guards against repeats within a turn are not under test. */
  readonly makeCall: (call: {
    readonly sessionId: string;
    readonly id: string;
    readonly name: string;
    readonly arguments: JsonObject;
  }) => Promise<ToolOutcome>;
};

export type MakeCaller = (options: CallerOptions) => Promise<Caller>;

/** Directly on a runtime. */
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
