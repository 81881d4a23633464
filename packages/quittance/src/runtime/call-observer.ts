/**
 * Reports one call to telemetry.
 *
 * 1. Telemetry that throws, hangs or returns invalid values changes no outcome. This is reported once, and the call is then
 *    no longer observed.
 * 2. Texts are masked here: ids and names by their form, and by the secrets of the call.
 */
import { hiddenId, safeId } from '../base/safe-id.ts';
import { cutText } from '../base/cut-text.ts';
import { isPromiseLike } from '../base/deadlines.ts';
import { readTraceparent } from '../base/traceparent.ts';
import type { Call } from '../call/call.ts';
import type { EmittedEvent } from '../call/emitted-event.ts';
import type { CallEvent, QuittanceEvent } from '../call/event.ts';
import type { DecidedBy, HiddenId } from '../call/events/gate-event.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { CallMoment, CallTelemetry, TelemetryDecider, SafeTelemetry } from './telemetry.ts';
import { longestName } from './telemetry.ts';
import { isCallEvent } from '../ledger/fold-stored.ts';
import type { CallReply } from './call-reply.ts';
import type { CallWithSecrets } from './call-input.ts';
import { clean } from './call-input.ts';

/** The part of a call that is reported to telemetry. */
type ObservedCall = CallWithSecrets &
  TracedCall & {
    readonly engine: { readonly telemetry: SafeTelemetry };
    readonly sessionId: string;
    readonly callId: string;
    readonly turn: { readonly turnId: string };
    readonly toolName: string;
    readonly journal: { readonly call: Call | undefined };
  };

/** A body that runs once, whatever telemetry does. */
export type BodyOnce = {
  /** For telemetry. A failure of the body is not passed on to it. */
  readonly run: () => unknown;
  /** Returns or throws the end of the body. Runs the body if telemetry did not. */
  finish(): unknown;
};

export class CallObserver {
  readonly #active: ObservedCall;
  readonly #telemetry: SafeTelemetry;
  #port: CallTelemetry | undefined;
  /** Stored with the call. */
  readonly traceparent: string | undefined;
  /** True if single steps are reported. */
  isRecording: boolean;
  /** True if this process counts the call at its end. */
  #isCounted = true;

  private constructor(active: ObservedCall, port: CallTelemetry) {
    this.#active = active;
    this.#telemetry = active.engine.telemetry;
    this.#port = port;
    this.traceparent = this.#telemetry.readContext(port.traceparent);
    this.isRecording = port.isRecording;
  }

  /** `continues`: the context stored by the process that started the call. */
  static start(
    { context: active }: { readonly context: ObservedCall },
    continues?: string,
  ): CallObserver | undefined {
    const { telemetry } = active.engine;
    if (telemetry.port === undefined) return undefined;
    try {
      const port = telemetry.port.startCall({
        toolName:
          active.tool === undefined
            ? nameOfUnknown(active, active.toolName)
            : telemetry.shownNameOf(active.tool.name),
        isKnownTool: active.tool !== undefined,
        parent: traceparentOf(active),
        continues,
      });
      if (port === undefined) return undefined;
      if (isPromiseLike(port)) {
        forget(port);
        throw new TypeError('startCall of the telemetry must not be asynchronous.');
      }
      const observer = new CallObserver(active, port);
      if (observer.isRecording) observer.#describe();
      return observer;
    } catch (error) {
      telemetry.report(error);
      return undefined;
    }
  }

  #describe(): void {
    const { sessionId, callId, turn, tool, journal } = this.#active;
    // A process that continues a call may not know its secrets.
    const hiddenIds = journal.call?.hiddenIds ?? [];
    const show = (id: string, what: HiddenId): string =>
      hiddenIds.includes(what) ? hiddenId(id) : name(this.#active, id);
    const shown = { sessionId: show(sessionId, 'session'), callId: show(callId, 'call') };
    const isHidden = shown.sessionId !== sessionId || shown.callId !== callId;
    this.note({
      type: 'described',
      ...shown,
      turnId: name(this.#active, turn.turnId),
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

  /** True if the body must run in the context of the telemetry. */
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

  /** Ignores the rejection of a promise that telemetry derived from the body's promise. */
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
    const attempts = this.#active.journal.call?.attempt ?? 0;
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
    return { type: by.type, name: by.type === 'person' ? 'person' : name(this.#active, by.name) };
  }

  /** The request is answered from the record of an earlier one. */
  noteRecall(how: 'cached' | 'replayed' | 'conflict'): void {
    this.#isCounted = false;
    this.note({ type: 'recalled', how, from: this.#active.journal.call?.traceparent });
  }

  /** Another process waits for the outcome and counts it. */
  noteCountedElsewhere(): void {
    this.#isCounted = false;
  }

  #safely(report: (port: CallTelemetry) => unknown): void {
    if (this.#port === undefined) return;
    try {
      this.#watch(report(this.#port));
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

const nameOfUnknown = (active: ObservedCall, text: string): string =>
  active.journal.call?.hiddenIds.includes('tool') === true ? hiddenId(text) : name(active, text);

const name = (active: ObservedCall, text: string): string =>
  cutText(clean(active, safeId(text)), longestName);

const forget = (promise: PromiseLike<unknown>): void => void promise.then(undefined, () => undefined);

/** A call with the trace contexts of its caller and of its turn. */
type TracedCall = {
  readonly options: { readonly traceparent?: string };
  readonly turn: { readonly traceparent: string | undefined };
};

/** The trace context that the caller sent. */
export const traceparentOf = ({ options, turn }: TracedCall): string | undefined =>
  options.traceparent === undefined
    ? turn.traceparent
    : (readTraceparent(options.traceparent) ?? turn.traceparent);
