/**
 * One call as telemetry sees it.
 *
 * 1. Telemetry that throws, hangs or answers nonsense changes no outcome. It is reported once and then ignored for the
 *    call.
 * 2. Texts are masked here: ids and names by their form, and by the secrets of the call.
 */
import { hiddenId, safeId } from '../../base/safe-id.ts';
import { cutText } from '../../base/cut-text.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import { readTraceparent } from '../../base/traceparent.ts';
import type { Call } from '../../call/call.ts';
import type { EmittedEvent } from '../../call/emitted-event.ts';
import type { CallEvent, DecidedBy, QuittanceEvent } from '../../call/event.ts';
import type { HiddenId } from '../../call/events/gate-event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { CallMoment, CallTelemetry, TelemetryDecider } from '../host/telemetry.ts';
import type { SafeTelemetry } from '../host/safe-telemetry.ts';
import { longestName } from '../host/safe-telemetry.ts';
import { isCallEvent } from '../../ledger/fold-stored.ts';
import type { CallReply } from './call-reply.ts';
import type { TracedCall } from './caller-trace.ts';
import { traceparentOf } from './caller-trace.ts';
import type { CallWithSecrets } from '../input/clean.ts';
import { clean } from '../input/clean.ts';

/** The part of a call that telemetry hears of. */
export type ObservedCall = CallWithSecrets &
  TracedCall & {
    readonly engine: { readonly telemetry: SafeTelemetry };
    readonly sessionId: string;
    readonly callId: string;
    readonly turn: { readonly turnId: string };
    readonly request: { readonly name: string };
    readonly journal: { readonly call: Call | undefined };
  };

/** A body that runs once, whatever telemetry does. */
export type BodyOnce = {
  /** For telemetry. It hears of no failure of the body. */
  readonly run: () => unknown;
  /** What the body returned, or throws what it threw. Runs it if telemetry did not. */
  finish(): unknown;
};

export class CallObserver {
  readonly #live: ObservedCall;
  readonly #telemetry: SafeTelemetry;
  #port: CallTelemetry | undefined;
  /** Stored with the call. */
  readonly traceparent: string | undefined;
  /** Are single moments noted? */
  isRecording: boolean;
  /** Is the call counted here when it ends? */
  #isCounted = true;

  private constructor(live: ObservedCall, port: CallTelemetry) {
    this.#live = live;
    this.#telemetry = live.engine.telemetry;
    this.#port = port;
    this.traceparent = this.#telemetry.readContext(port.traceparent);
    this.isRecording = port.isRecording;
  }

  /** `continues`: the context stored by the process that started the call. */
  static start(live: ObservedCall, continues?: string): CallObserver | undefined {
    const { telemetry } = live.engine;
    if (telemetry.port === undefined) return undefined;
    try {
      const port = telemetry.port.startCall({
        toolName:
          live.tool === undefined
            ? nameOfUnknown(live, live.request.name)
            : telemetry.shownNameOf(live.tool.name),
        isKnownTool: live.tool !== undefined,
        parent: traceparentOf(live),
        continues,
      });
      if (port === undefined) return undefined;
      if (isPromiseLike(port)) {
        forget(port);
        throw new TypeError('startCall of the telemetry must not be asynchronous.');
      }
      const observer = new CallObserver(live, port);
      if (observer.isRecording) observer.#describe();
      return observer;
    } catch (error) {
      telemetry.report(error);
      return undefined;
    }
  }

  #describe(): void {
    const { sessionId, callId, turn, tool, journal } = this.#live;
    // A process that continues a call may not know its secrets.
    const hiddenIds = journal.call?.hiddenIds ?? [];
    const show = (id: string, what: HiddenId): string =>
      hiddenIds.includes(what) ? hiddenId(id) : name(this.#live, id);
    const shown = { sessionId: show(sessionId, 'session'), callId: show(callId, 'call') };
    const isHidden = shown.sessionId !== sessionId || shown.callId !== callId;
    this.note({
      type: 'described',
      ...shown,
      turnId: name(this.#live, turn.turnId),
      path: isHidden ? undefined : `/calls/${encodeURIComponent(sessionId)}/${encodeURIComponent(callId)}`,
      mode: tool?.mode ?? journal.call?.mode ?? 'external',
    });
  }

  note(moment: CallMoment): void {
    if (!this.isRecording) return;
    this.#safely((port) => port.note(moment));
  }

  /** Events of the call that are now in the ledger. */
  noteStored(events: readonly (QuittanceEvent | EmittedEvent)[]): void {
    for (const event of events) {
      const moment = isCallEvent(event) ? this.#toMoment(event) : undefined;
      if (moment !== undefined) this.note(moment);
    }
  }

  /** Must the body run in another context than the caller's? */
  get isAround(): boolean {
    return this.#port?.runBody !== undefined;
  }

  /** Runs the body in the context of the telemetry. */
  runBody(body: BodyOnce): unknown {
    let answer: unknown;
    try {
      answer = this.#port?.runBody?.(body.run);
    } catch (error) {
      this.#giveUp(error);
    }
    let value: unknown;
    try {
      return (value = body.finish());
    } finally {
      if (answer !== value) this.#ignoreAnswer(answer, value);
    }
  }

  /** A promise made from the one of the body fails with it. That is not a failure of the telemetry. */
  #ignoreAnswer(answer: unknown, value: unknown): void {
    if (!isPromiseLike(value)) this.#watch(answer);
    else if (answer instanceof Promise) forget(answer);
  }

  get attemptTraceparent(): string | undefined {
    let found: string | undefined;
    this.#safely((port) => {
      found = readTraceparent(port.attemptTraceparent);
    });
    return found ?? this.traceparent;
  }

  /** The reply to the caller, or undefined if there is none yet. */
  end(reply: CallReply | undefined): void {
    const settled = reply !== undefined && reply.type !== 'held' ? reply : undefined;
    const port = this.#port;
    if (port === undefined) return;
    this.#port = undefined;
    this.isRecording = false;
    try {
      this.#watch(port.end(settled === undefined ? { type: 'left' } : this.#toEnd(settled)));
    } catch (error) {
      this.#telemetry.report(error);
    }
  }

  #toEnd(outcome: ToolOutcome): Parameters<CallTelemetry['end']>[0] {
    const attempts = this.#live.journal.call?.attempt ?? 0;
    return {
      type: 'settled',
      outcome: outcome.type,
      code: 'code' in outcome ? outcome.code : undefined,
      attempts,
      bodyMs: attempts > 0 && 'elapsedMs' in outcome ? outcome.elapsedMs : undefined,
      isFirst: this.#isCounted,
    };
  }

  #toMoment(event: CallEvent): CallMoment | undefined {
    if (event.type === 'tool.decided')
      return {
        type: 'judged',
        decision: event.decision,
        by: event.decision === 'allow' ? undefined : this.#toDecider(event.decidedBy),
        waited: event.gates,
        policyVersion: event.policyVersion,
      };
    if (event.type === 'tool.held') return { type: 'held' };
    if (event.type === 'tool.responded')
      return { type: 'attempt_ended', code: event.error?.reason, isFinal: event.final };
    return undefined;
  }

  #toDecider(by: DecidedBy | undefined): TelemetryDecider | undefined {
    if (by === undefined) return undefined;
    return { type: by.type, name: by.type === 'person' ? 'person' : name(this.#live, by.name) };
  }

  /** The request is answered from the record of an earlier one. */
  noteRecall(how: 'cached' | 'replayed' | 'conflict'): void {
    this.#isCounted = false;
    this.note({ type: 'recalled', how, from: this.#live.journal.call?.traceparent });
  }

  /** Another process waits for the outcome and counts it. */
  noteCountedElsewhere(): void {
    this.#isCounted = false;
  }

  #safely(tell: (port: CallTelemetry) => unknown): void {
    if (this.#port === undefined) return;
    try {
      this.#watch(tell(this.#port));
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /** An asynchronous implementation is not awaited, and its failure must not end the process. */
  #watch(answer: unknown): void {
    if (answer instanceof Promise) answer.catch((error: unknown) => this.#telemetry.report(error));
  }

  #giveUp(error: unknown): void {
    this.#port = undefined;
    this.isRecording = false;
    this.#telemetry.report(error);
  }
}

const nameOfUnknown = (live: ObservedCall, text: string): string =>
  live.journal.call?.hiddenIds.includes('tool') === true ? hiddenId(text) : name(live, text);

const name = (live: ObservedCall, text: string): string => cutText(clean(live, safeId(text)), longestName);

const forget = (promise: PromiseLike<unknown>): void => void promise.then(undefined, () => undefined);
