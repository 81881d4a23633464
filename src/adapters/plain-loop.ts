/** What the helpers for loops without a framework share: the model's calls go in, answers come out in their order. */
import type { Runtime } from '../runtime/create-runtime.ts';
import type { PendingCall } from '../runtime/await-told.ts';
import type { BoundTool, ToolCallInput, Turn } from '../runtime/turn.ts';
import type { TurnOptions } from '../runtime/turn-options.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { AnyFunction, ToolObject } from '../tool/existing-tool.ts';
import { govern } from '../tool/govern.ts';
import type { AdapterOptions } from './adapter-options.ts';
import type { Answer } from './answer.ts';
import { toAnswer } from './answer.ts';
import { createDriver } from './driver.ts';
import type { Adapter } from './framework-version.ts';
import { reportVersions } from './framework-version.ts';
import type { SendProbe } from './self-test.ts';
import { probe, selfTest } from './self-test.ts';

/** What `govern` takes: functions of one object, tool objects, or tools of `defineTool`, in a record or a list. */
export type LoopTools =
  | Readonly<Record<string, AnyFunction | ToolObject | AnyTool>>
  | readonly ((ToolObject | AnyTool) & { readonly name: string })[];

/** What the helpers take beside the tools. Nobody approves in a plain loop: held calls wait, or are said to be pending. */
export type LoopOptions = Omit<AdapterOptions, 'approver' | 'principal' | 'attrs'>;

/** A call the model made. One that was cut off by a limit of the model is not made: its arguments may lack their end. */
export type LoopCall = ToolCallInput & { readonly isCutOff: boolean };

/** The answer to a call, or word that it was not made. */
export type LoopAnswer = Answer | { readonly type: 'cut off'; readonly content: string };

export type LoopRun = {
  readonly turn: Turn;
  readonly offered: readonly BoundTool[];
  /** Makes the calls and waits for all of them. They run as `turn.callAll` runs them. */
  answer(calls: readonly LoopCall[], signal: AbortSignal | undefined): Promise<readonly LoopAnswer[]>;
  /** Makes the calls and waits for no person. Asked again, what has ended is answered from the record. */
  answerOrPending(
    calls: readonly LoopCall[],
    signal: AbortSignal | undefined,
  ): Promise<readonly (LoopAnswer | PendingCall)[]>;
};

export type Loop = { readonly runtime: Runtime; readonly run: (options: TurnOptions) => LoopRun };

/** Makes the runtime of a loop, once its self-test has shown that what policy blocks does not run. */
export async function governLoop(
  adapter: Adapter,
  tools: LoopTools,
  options: LoopOptions,
  answerProbe: (run: LoopRun, call: { readonly id: string; readonly name: string }) => Promise<unknown>,
): Promise<Loop> {
  const send: SendProbe = async (probeOptions, body) => {
    const run = toLoop({ [probe.name]: body }, probeOptions).run({ sessionId: probe.sessionId });
    await answerProbe(run, { id: probe.callId, name: probe.name });
  };
  reportVersions(adapter, options.onTrouble);
  await selfTest(adapter, send);
  return toLoop(tools, options);
}

function toLoop(tools: LoopTools, { overrides = {}, ...options }: LoopOptions): Loop {
  // Both shapes are read by one function, which checks them; its types only tell them apart.
  const driver = createDriver(govern(tools as Readonly<Record<string, AnyFunction>>, overrides), options);
  const { runtime, ledger } = driver;
  return {
    runtime,
    run(turnOptions) {
      const run = driver.open(turnOptions);
      const { turn, sessionId } = run;
      return {
        turn,
        offered: turn.tools(),
        async answer(calls, signal) {
          const whole = calls.filter(({ isCutOff }) => !isCutOff);
          const given = signal === undefined ? {} : { signal };
          const told = await turn.callAll(whole.map(toRequest), given);
          const answers = new Map<LoopCall, LoopAnswer>();
          for (const [index, call] of whole.entries()) {
            const ended = told[index];
            // At the deadline of the turn a held call has no outcome: then this throws, and says how to go on.
            const outcome =
              ended === undefined || ended.type === 'pending' ? await turn.call(toRequest(call)) : ended;
            answers.set(call, await toAnswer(ledger, sessionId, outcome));
          }
          return calls.map((call) => answers.get(call) ?? cutOff);
        },
        answerOrPending: (calls, signal) =>
          Promise.all(
            calls.map(async (call) =>
              call.isCutOff
                ? cutOff
                : run.callOrPending(toRequest(call), signal === undefined ? {} : { signal }),
            ),
          ),
      };
    },
  };
}

const toRequest = ({ id, name, arguments: args }: LoopCall): ToolCallInput => ({ id, name, arguments: args });

const cutOff: LoopAnswer = Object.freeze({
  type: 'cut off',
  content: JSON.stringify({
    status: 'error',
    error: 'The call was cut off by the limit on the length of your answer and was not made. Make it again.',
    retryable: true,
  }),
});
