/**
 * A call that this process has accepted. Everything known from the start is an immutable value. Four small
 * objects change while the call is made, and all stages share them: journal, signals, secrets and preview.
 * Later stages are in `call-stages.ts`.
 */
import { createKnownSecrets, shortestShared } from '../../base/known-secrets.ts';
import type { ParsedToolCall } from '../../call/tool-call.ts';
import type { Policy } from '../../policy/judge/compile-policy.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { CallOptions } from '../host/call-options.ts';
import { undoneCallId } from '../host/undo-tool.ts';
import { CallSecrets } from '../input/call-secrets.ts';
import type { CallerFacts } from '../input/caller-facts.ts';
import { hideInFacts, readCallerFacts } from '../input/caller-facts.ts';
import type { KeptInput } from '../input/kept-input.ts';
import { hideKnown } from '../input/kept-input.ts';
import type { Snapshot } from '../input/snapshot.ts';
import { CallJournal } from './call-journal.ts';
import type { CallServices } from './call-services.ts';
import { CallSignals } from './call-signals.ts';
import type { Engine } from './engine.ts';
import type { TurnState } from './turn-state.ts';

/** How a call is made. */
export type Manner = {
  readonly submitted: boolean;
  /**
   * Takes a slot among the parallel calls of a batch before the body runs. Returns a function that frees it.
   */
  readonly awaitStart: (() => Promise<() => void>) | undefined;
  /** How long the call has waited for earlier calls of its batch. */
  readonly queuedMs?: number;
  /** A tool that the runtime itself calls. Default: the tool with the requested name. */
  readonly tool?: AnyTool | undefined;
  /** Set if this process took the call over. */
  readonly takenOver?: TakenOver;
};

/** Facts about a call that this process took over from a dead owner. */
export type TakenOver = {
  /** Too many processes ended with this call: no code of the host or the tool runs for it. */
  readonly givenUp: boolean;
};

/** The last preview, in the exact form for the body. Its stored form is on the record of the call. */
export type ShownPreview = {
  snapshot: Snapshot | undefined;
  /** The operation whose preview the tool has released. */
  letGoOf: string | undefined;
};

export type AcceptedCall = {
  readonly services: CallServices;
  readonly engine: Engine;
  readonly turn: TurnState;
  readonly sessionId: string;
  readonly callId: string;
  readonly request: ParsedToolCall;
  /** The arguments in their stored form. */
  readonly requested: KeptInput;
  readonly facts: CallerFacts;
  readonly options: CallOptions;
  readonly manner: Manner;
  /** Undefined if no tool has the requested name. */
  readonly tool: AnyTool | undefined;
  /** The rules in force when the call arrived. */
  readonly policy: Policy | undefined;

  readonly journal: CallJournal;
  readonly signals: CallSignals;
  readonly secrets: CallSecrets;
  readonly preview: ShownPreview;
};

/** The call that this one undoes. */
export const undoneBy = ({ manner, request }: Pick<AcceptedCall, 'manner' | 'request'>): string | undefined =>
  manner.tool === undefined ? undefined : undoneCallId(request.id);

/** The runtime that makes the call. */
export type CallMaker = CallServices & { readonly engine: Engine };

export function acceptCall(
  maker: CallMaker,
  turn: TurnState,
  request: ParsedToolCall,
  requested: KeptInput,
  options: CallOptions,
  manner: Manner,
): AcceptedCall {
  const { engine } = maker;
  const read = readCallerFacts(options, turn.facts, engine.redactor);
  // Secrets of the arguments are hidden in the facts too, and vice versa.
  const kept = hideKnown(requested, request.input, read.hidden, engine.seal);
  const facts =
    requested.secrets.length === 0
      ? read
      : hideInFacts(read, createKnownSecrets(requested.secrets, shortestShared));
  const policy = engine.policyInForce();
  const journal = new CallJournal(engine, turn, request.id);
  return {
    services: maker,
    engine,
    turn,
    sessionId: turn.sessionId,
    callId: request.id,
    request,
    requested: kept,
    facts,
    options,
    manner,
    tool: manner.tool ?? engine.toolFor(request.name, policy),
    policy,
    journal,
    signals: new CallSignals(journal),
    secrets: new CallSecrets(facts.hidden, kept.secrets),
    preview: { snapshot: undefined, letGoOf: undefined },
  };
}
