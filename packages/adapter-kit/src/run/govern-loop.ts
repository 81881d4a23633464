/** The common part of the helpers for loops without a framework: they answer the model's calls in order. */
import { checkObject } from 'quittance/internal/base/check-keys';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { PendingCall, BoundTool, Turn } from 'quittance/internal/runtime/turn';
import type { ToolCallInput, TurnOptions } from 'quittance/internal/runtime/call-options';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { AnyFunction, ToolObject } from 'quittance/internal/tool/existing-tool';
import { govern } from 'quittance/internal/tool/govern';
import type { AdapterOptions } from '../adopt/adapter-options.ts';
import type { AdoptedTool } from '../adopt/adopted-tool.ts';
import type { Answer } from '../answer/answer.ts';
import { toAnswer } from '../answer/answer.ts';
import type { ConversationStep } from './conversation.ts';
import { AnsweredCalls, earlierUses, withSessionCallId } from './conversation.ts';
import { createDriver } from './driver.ts';
import type { Adapter } from '../adopt/tested-versions.ts';
import { reportVersions } from '../adopt/tested-versions.ts';
import type { SendProbe } from './self-test.ts';
import { probe, selfTest } from './self-test.ts';

/** The tools for `govern`: functions of one object, tool objects, or tools of `defineTool`, in a record or a list. */
export type LoopTools =
  | Readonly<Record<string, AnyFunction | ToolObject | AnyTool>>
  | readonly ((ToolObject | AnyTool) & { readonly name: string })[];

/** Options of the helpers. A plain loop has no approver: held calls wait or are returned as pending. */
export type LoopOptions = Omit<AdapterOptions, 'approver' | 'principal' | 'attrs'>;

/** A call of the model. A call that the model's limit cut off is not made, because its arguments may be incomplete. */
export type LoopCall = ToolCallInput & { readonly isCutOff: boolean };

/** The answer to a call, or the note that it was not made. */
export type LoopAnswer = Answer | { readonly type: 'cut off'; readonly content: string };

export type LoopRun = {
  readonly turn: Turn;
  readonly offered: readonly BoundTool[];
  /** Makes the calls and waits for all of them. They run as in `turn.callAll`. */
  answer(said: LoopMessage, signal: AbortSignal | undefined): Promise<readonly LoopAnswer[]>;
  /**
   * Makes the calls without waiting for approvals. Calls that must wait for a held one are pending too. When repeated,
   * ended calls are answered from the record.
   */
  answerOrPending(
    said: LoopMessage,
    signal: AbortSignal | undefined,
  ): Promise<readonly (LoopAnswer | PendingCall)[]>;
};

/** One answer of the model, and its place in the conversation. */
export type LoopMessage = {
  readonly calls: readonly LoopCall[];
  /** The provider's ids for it and for its items, which a copy has too. */
  readonly ids: { readonly message: string | undefined; readonly items: readonly string[] };
  /** Its conversation, up to or including it. Undefined if the host does not pass one. */
  readonly conversation: readonly ConversationStep[] | undefined;
  /** The messages of that conversation, as the host has them. */
  readonly messages: readonly unknown[] | undefined;
};

export type Loop = { readonly runtime: Runtime; readonly run: (options: TurnOptions) => LoopRun };

/**
 * Creates the runtime of a loop, after its self-test has shown that blocked calls do not run. `importer` is the address of
 * the adapter's module, which finds the framework.
 */
export async function governLoop(
  adapter: Adapter,
  importer: string,
  tools: LoopTools,
  options: LoopOptions,
  answerProbe: (run: LoopRun, call: { readonly id: string; readonly name: string }) => Promise<unknown>,
  adopted: readonly AdoptedTool<unknown>[] = [],
): Promise<Loop> {
  const send: SendProbe = async (probeOptions, body) => {
    const run = toLoop({ [probe.name]: body }, probeOptions).run({ sessionId: probe.sessionId });
    await answerProbe(run, { id: probe.callId, name: probe.name });
  };
  checkObject(`${adapter}: governTools`, options);
  reportVersions(adapter, options.onTrouble, importer);
  await selfTest(adapter, send);
  return toLoop(tools, options, adopted);
}

/** `adopted` are tools of the SDK itself, in addition to those of the host. */
function toLoop(
  tools: LoopTools,
  { overrides = {}, ...options }: LoopOptions,
  adopted: readonly AdoptedTool<unknown>[] = [],
): Loop {
  const isAdopted = (name: string): boolean => adopted.some((tool) => tool.name === name);
  const [ofSdk, ofHost] = [true, false].map((wanted) =>
    Object.fromEntries(Object.entries(overrides).filter(([name]) => isAdopted(name) === wanted)),
  );
  // One function reads and checks both shapes; the types only distinguish them.
  const own = govern(tools as Readonly<Record<string, AnyFunction>>, ofHost);
  const driver = createDriver([...own, ...adopted], { ...options, ...(ofSdk && { overrides: ofSdk }) });
  const { runtime, ledger } = driver;
  return {
    runtime,
    run(turnOptions) {
      const run = driver.open(turnOptions);
      const { turn, sessionId } = run;
      const places = new AnswerPositions();
      const toRequests = (said: LoopMessage): ReadonlyMap<LoopCall, ToolCallInput> => {
        const earlier = places.earlierOf(said);
        const whole = said.calls.filter(({ isCutOff }) => !isCutOff);
        return new Map(whole.map((call) => [call, withSessionCallId(toRequest(call), earlier(call.id))]));
      };
      return {
        turn,
        offered: turn.tools(),
        async answer(said, signal) {
          const { calls } = said;
          const requests = toRequests(said);
          const whole = [...requests.keys()];
          const given = { ...run.factsWith(said.messages), ...(signal !== undefined && { signal }) };
          const settled = await turn.callAll([...requests.values()], given);
          const answers = new Map<LoopCall, LoopAnswer>();
          for (const [index, call] of whole.entries()) {
            const ended = settled[index];
            // At the deadline of the turn a held call has no outcome: this throws, and says how to continue.
            const outcome =
              ended === undefined || ended.type === 'pending'
                ? await turn.call(requests.get(call) ?? toRequest(call), given)
                : ended;
            answers.set(call, await toAnswer(ledger, sessionId, outcome));
          }
          places.answered(said);
          return calls.map((call) => answers.get(call) ?? cutOff);
        },
        async answerOrPending(said, signal) {
          const requests = toRequests(said);
          const given = { ...run.factsWith(said.messages), ...(signal !== undefined && { signal }) };
          const settled = await turn.callAll([...requests.values()], { ...given, ifHeld: 'return' });
          const answers = new Map<LoopCall, LoopAnswer | PendingCall>();
          for (const [index, call] of [...requests.keys()].entries()) {
            const ended = settled[index];
            if (ended === undefined) throw new TypeError(`The call ${call.id} has no answer.`);
            answers.set(call, ended.type === 'pending' ? ended : await toAnswer(ledger, sessionId, ended));
          }
          if (!settled.some(({ type }) => type === 'pending')) places.answered(said);
          return said.calls.map((call) => answers.get(call) ?? cutOff);
        },
      };
    },
  };
}

/**
 * The places of the model's messages. Without the host's conversation, the messages answered by this run are the
 * conversation.
 */
class AnswerPositions {
  readonly #counts = new AnsweredCalls();
  readonly #known: KnownMessage[] = [];

  earlierOf(said: LoopMessage): (id: string) => number {
    const { conversation } = said;
    if (conversation !== undefined) return (id) => earlierUses(conversation, id);
    const found = this.#known.findLast((known) => isSameMessage(known.said, said));
    if (found !== undefined) return found.earlier;
    const counts = this.#counts.copy();
    const earlier = (id: string): number => counts.earlier(id);
    this.#known.push({ said, earlier });
    return earlier;
  }

  answered(said: LoopMessage): void {
    const earlier = this.earlierOf(said);
    for (const { id } of said.calls) this.#counts.answered(id, earlier(id));
  }
}

type KnownMessage = { readonly said: LoopMessage; readonly earlier: (id: string) => number };

/** Compares the ids of the provider that both messages have. Without one, the same calls are the same message. */
function isSameMessage(known: LoopMessage, said: LoopMessage): boolean {
  const [ofKnown, ofSaid] = [known.ids, said.ids];
  if (ofKnown.message !== undefined && ofSaid.message !== undefined)
    return ofKnown.message === ofSaid.message;
  if (ofKnown.items.length > 0 && ofSaid.items.length > 0)
    return ofKnown.items.some((id) => ofSaid.items.includes(id));
  return callsOf(known) === callsOf(said);
}

/** Equal for messages with the same calls. */
const callsOf = ({ calls }: LoopMessage): string =>
  JSON.stringify(calls.map(({ id, name, arguments: args }) => [id, name, args]));

const toRequest = ({ id, name, arguments: args }: LoopCall): ToolCallInput => ({ id, name, arguments: args });

const cutOff: LoopAnswer = Object.freeze({
  type: 'cut off',
  content: JSON.stringify({
    status: 'error',
    error: 'The call was cut off by the limit on the length of your answer and was not made. Make it again.',
    retryable: true,
  }),
});
