/**
 * The common part of all adapters: a runtime with the framework's tools, and the way from a framework's call to the
 * content for its model.
 *
 * 1. Only the runtime calls the function of a framework's tool. An adapter replaces the function that runs the tool
 *    with one that calls the runtime.
 * 2. The framework's context of a call is stored here while the call runs. Its function receives it, whether the
 *    framework or a decision made the runtime continue.
 */
import { QuittanceError, isQuittanceError } from 'quittance/internal/base/error';
import type { JsonObject } from 'quittance/internal/base/json';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { PendingCall, Turn } from 'quittance/internal/runtime/turn';
import type { CallOptions, ToolCallInput, TurnOptions } from 'quittance/internal/runtime/call-options';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import { createRuntimeOn } from 'quittance/internal/runtime/create-runtime';
import { callKey } from 'quittance/internal/runtime/turn-state';
import { createMemoryLedger } from 'quittance/internal/store/memory/memory-ledger';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { AdapterOptions } from '../adopt/adapter-options.ts';
import type { AdoptedTool, NativeOf } from '../adopt/adopted-tool.ts';
import { adoptTools, askAsAuthorsSay } from '../adopt/adopted-tool.ts';
import type { Answer } from '../answer/answer.ts';
import type { FaultMessages } from '../answer/fault-messages.ts';
import { createFaultMessages } from '../answer/fault-messages.ts';
import { toAnswer } from '../answer/answer.ts';
import { rememberPerKey } from './remember.ts';
import { readShowConversation, toShownConversation } from '../adopt/shown-conversation.ts';

/** Options of a framework's call: those of `turn.call`, and the framework's context. */
export type CallGiven<Native> = CallOptions & { readonly native?: Native };

/** One run of a framework: a turn of ours. */
export interface Run<Native> {
  readonly sessionId: string;
  readonly turn: Turn;
  /** Do held calls stop this run in the framework's way? True if there is an approver. */
  readonly suspends: boolean;
  /** Metadata of a call with the last of these messages, if the adapter shows conversations. */
  readonly factsWith: (messages: readonly unknown[] | undefined) => Pick<CallOptions, 'attrs'>;
  /** Makes the call and waits for it, including approvals. The same id again returns the recorded outcome. */
  call(request: ToolCallInput, given?: CallGiven<Native>): Promise<Answer>;
  /** Makes the call without waiting for approvals: a held call returns its confirmation. */
  callOrPending(request: ToolCallInput, given?: CallGiven<Native>): Promise<Answer | PendingCall>;
  /** Holds the call if it needs approval. For frameworks that check before they run a tool. */
  ask(request: ToolCallInput, given?: CallGiven<Native>): Promise<PendingCall | undefined>;
  /**
   * For a call that returns from the framework's own approval: records the decision of `approver`, if there is none
   * yet, and then makes the call. It stays pending if `approver` is undefined, and if there was no confirmation
   * before.
   */
  callApproved(request: ToolCallInput, given?: CallGiven<Native>): Promise<Answer | PendingCall>;
  /** Records the denial of `approver`, or of `by`, through the framework. False if the call no longer waits. */
  deny(
    callId: string,
    reason: string | undefined,
    who: { readonly native: Native } | { readonly by: string },
  ): Promise<boolean>;
}

export interface Driver<Native> {
  readonly runtime: Runtime;
  readonly ledger: OpenLedger;
  /** The tools of the runtime: in the given order, with compiled schemas. */
  readonly tools: readonly AnyTool[];
  /** Do held calls stop the run in the framework's way? */
  readonly suspends: boolean;
  /** For frameworks that send thrown errors to their model. */
  readonly faults: FaultMessages;
  /** Opens a run. `approver` overrides the adapter's approver for this run. */
  open(options: TurnOptions, approver?: AdapterOptions<Native>['approver']): Run<Native>;
  /**
   * The run for a framework's object or name; opened on first use. The latest thousand names are remembered. A
   * forgotten run loses the guards of one turn, but nothing that is stored.
   */
  runOf(key: object | string, options: () => TurnOptions): Run<Native>;
}

/** Creates the runtime of a framework's tools. */
export function createDriver<Native>(
  tools: readonly (AdoptedTool<Native> | AnyTool)[],
  adapterOptions: AdapterOptions<Native>,
  /** The messages before a call, if the framework passes them. */
  messagesOf: (native: Native) => readonly unknown[] | undefined = () => undefined,
): Driver<Native> {
  const {
    overrides = {},
    trustAnnotations = false,
    approver,
    principal,
    attrs,
    showConversation,
    turn: everyTurn,
    ledger: given,
    ...options
  } = adapterOptions;
  const contexts = new NativeContexts<Native>();
  const ledger = given ?? createMemoryLedger(options.clock && { clock: options.clock });
  const adopted = adoptTools(tools, overrides, contexts.find, (toolName) =>
    typeof trustAnnotations === 'function' ? trustAnnotations(toolName) === true : trustAnnotations === true,
  );
  const runtime: Runtime = createRuntimeOn({
    ...options,
    ledger,
    tools: adopted,
    onPreToolUse: [...askAsAuthorsSay(tools, contexts.find), ...[options.onPreToolUse ?? []].flat()],
  });
  checkApprover(approver);
  const shownMessages = readShowConversation(showConversation);

  const open: Driver<Native>['open'] = (turnOptions, answering = approver) => {
    checkApprover(answering);
    const wanted = { ...everyTurn, ...turnOptions };
    const factsWith = (
      messages: readonly unknown[] | undefined,
      metadata?: JsonObject,
    ): Pick<CallOptions, 'attrs'> => {
      const shown = shownMessages === 0 ? undefined : toShownConversation(messages, shownMessages);
      if (shown === undefined) return metadata === undefined ? {} : { attrs: metadata };
      // The metadata of a call replaces that of its turn, which must not get lost.
      return { attrs: { ...shown, ...(metadata ?? wanted.attrs) } };
    };
    const factsOf = (native: Native | undefined): CallOptions => {
      if (native === undefined) return {};
      const onBehalfOf = principal?.(native);
      return {
        ...(onBehalfOf !== undefined && { principal: onBehalfOf }),
        ...factsWith(shownMessages === 0 ? undefined : messagesOf(native), attrs?.(native)),
      };
    };
    return openRun({
      runtime,
      ledger,
      turn: runtime.turn(wanted),
      approver: answering,
      factsWith,
      during: (key, native, make) => contexts.during(key, native, () => make(factsOf(native))),
    });
  };

  const byObject = new WeakMap<object, Run<Native>>();
  const byName = new Map<string, Run<Native>>();
  return {
    runtime,
    ledger,
    tools: adopted,
    suspends: approver !== undefined,
    faults: createFaultMessages(options.onTrouble),
    open,
    runOf(key, turnOptions) {
      const known = typeof key === 'string' ? byName.get(key) : byObject.get(key);
      if (known !== undefined) return known;
      const run = open(turnOptions());
      if (typeof key !== 'string') byObject.set(key, run);
      else rememberPerKey(byName, key, run);
      return run;
    },
  };
}

type OpenedRun<Native> = {
  readonly runtime: Runtime;
  readonly ledger: OpenLedger;
  readonly turn: Turn;
  readonly approver: AdapterOptions<Native>['approver'];
  readonly factsWith: Run<Native>['factsWith'];
  /** Stores the context of the call while `make` runs, and while the call awaits approval. */
  readonly during: <Made extends { readonly type: string } | undefined>(
    key: string,
    native: Native | undefined,
    make: (facts: CallOptions) => Promise<Made>,
  ) => Promise<Made>;
};

function openRun<Native>({
  runtime,
  ledger,
  turn,
  approver,
  factsWith,
  during,
}: OpenedRun<Native>): Run<Native> {
  const { sessionId } = turn;
  const nameApprover = async (native: Native | undefined): Promise<string | undefined> => {
    if (typeof approver !== 'function') return approver;
    return native === undefined ? undefined : approver(native);
  };
  const withNative = <Made extends { readonly type: string } | undefined>(
    { id: callId }: ToolCallInput,
    { native, ...callOptions }: CallGiven<Native>,
    make: (callOptions: CallOptions) => Promise<Made>,
  ): Promise<Made> =>
    during(callKey({ sessionId, callId }), native, (facts) => make({ ...facts, ...callOptions }));
  const run: Run<Native> = {
    sessionId,
    turn,
    suspends: approver !== undefined,
    factsWith,
    call: (request, given = {}) =>
      withNative(request, given, async (callOptions) =>
        toAnswer(ledger, sessionId, await turn.call(request, callOptions)),
      ),
    callOrPending: (request, given = {}) =>
      withNative(request, given, async (callOptions) => {
        const answer = await turn.call(request, { ...callOptions, ifHeld: 'return' });
        return answer.type === 'pending' ? answer : toAnswer(ledger, sessionId, answer);
      }),
    ask: (request, given = {}) => withNative(request, given, (callOptions) => turn.ask(request, callOptions)),
    async callApproved(request, given = {}) {
      const ref = { sessionId, callId: request.id };
      const [known] = await runtime.calls.list(ref);
      const first = await run.callOrPending(request, given);
      // An approval without an open confirmation does not count.
      if (first.type !== 'pending' || known?.confirmation?.status !== 'pending') return first;
      const by = await nameApprover(given.native);
      if (by === undefined) return first;
      // The call was recalled by its id, name and arguments, so the approved call is the held one.
      await decideFor(runtime, ref, { decision: 'approve', by });
      return run.callOrPending(request, given);
    },
    async deny(callId, reason, who) {
      const by = 'by' in who ? who.by : await nameApprover(who.native);
      if (by === undefined) return false;
      const said = reason === undefined ? {} : { reason };
      return decideFor(runtime, { sessionId, callId }, { decision: 'deny', by, ...said });
    },
  };
  return run;
}

function checkApprover(approver: unknown): void {
  if (approver === undefined || typeof approver === 'function') return;
  if (typeof approver === 'string' && approver.trim() !== '') return;
  throw new QuittanceError(
    'config.invalid',
    'approver must be the name of a person, or a function that returns one. Leave it out to have held calls wait.',
  );
}

/**
 * Records a person's decision on a held call from another system. False if the call no longer waits: another decision
 * came first.
 */
async function decideFor(
  runtime: Runtime,
  call: { readonly sessionId: string; readonly callId: string },
  decision: { readonly decision: 'approve' | 'deny'; readonly by: string; readonly reason?: string },
): Promise<boolean> {
  const [held] = await runtime.calls.list(call);
  const confirmation = held?.confirmation;
  if (confirmation?.status !== 'pending') return false;
  const { confirmationId, inputDigest, revision } = confirmation;
  try {
    await runtime.confirmations.decide(confirmationId, {
      ...decision,
      inputDigest,
      ...(revision !== undefined && { revision }),
    });
    return true;
  } catch (error) {
    if (isQuittanceError(error, 'confirmation.decided') || isQuittanceError(error, 'confirmation.expired'))
      return false;
    throw error;
  }
}

/** The framework's contexts of calls that run now or await approval. */
class NativeContexts<Native> {
  readonly #running = new Map<string, Native>();
  /** Calls that await approval after their caller went away. */
  readonly #waiting = new Map<string, Native>();

  readonly find: NativeOf<Native> = (call) => {
    const key = callKey(call);
    return this.#running.get(key) ?? this.#waiting.get(key);
  };

  /** Stores the context of the call while `make` runs, and while the call awaits approval. */
  async during<Made extends { readonly type: string } | undefined>(
    key: string,
    native: Native | undefined,
    make: () => Promise<Made>,
  ): Promise<Made> {
    if (native !== undefined) this.#running.set(key, native);
    let made: Made | undefined;
    try {
      return (made = await make());
    } finally {
      this.#running.delete(key);
      if (made?.type !== 'pending') this.#waiting.delete(key);
      else if (native !== undefined) rememberPerKey(this.#waiting, key, native);
    }
  }
}
