/**
 * One call as telemetry sees it.
 *
 * 1. Telemetry that throws, hangs or answers nonsense changes no outcome. It is reported once and then ignored for the
 *    call.
 * 2. Texts are masked here: ids and names by their form, and by the secrets of the call.
 */
import { safeId } from '../../base/safe-id.ts';
import { cutText } from '../../base/cut-text.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import { readTraceparent } from '../../base/traceparent.ts';
import type { Call } from '../../call/call.ts';
import type { EmittedEvent } from '../../call/emitted-event.ts';
import type { CallEvent, DecidedBy, QuittanceEvent } from '../../call/event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { CallMoment, CallTelemetry, TelemetryDecider } from '../host/telemetry.ts';
import type { SafeTelemetry } from '../host/safe-telemetry.ts';
import { longestName } from '../host/safe-telemetry.ts';
import { isCallEvent } from '../../ledger/fold-stored.ts';
import type { CallReply } from './call-reply.ts';
import type { CallWithSecrets } from '../input/clean.ts';
import { clean } from '../input/clean.ts';

/** The part of a call that telemetry hears of. */
export type ObservedCall = CallWithSecrets & {
  readonly engine: { readonly telemetry: SafeTelemetry };
  readonly sessionId: string;
  readonly callId: string;
  readonly turn: { readonly turnId: string };
  readonly request: { readonly name: string };
  readonly traceparent: string | undefined;
  readonly journal: { readonly call: Call | undefined };
};

export class CallObserver {
  readonly #live: ObservedCall;
  readonly #telemetry: SafeTelemetry;
  #port: CallTelemetry | undefined;
  /** Stored with the call. */
  readonly traceparent: string | undefined;
  /** Are single moments noted? */
  isRecording: boolean;
  #isRecalled = false;

  private constructor(live: ObservedCall, port: CallTelemetry) {
    this.#live = live;
    this.#telemetry = live.engine.telemetry;
    this.#port = port;
    this.traceparent = readTraceparent(port.traceparent);
    this.isRecording = port.isRecording;
  }

  /** `continues`: the context stored by the process that started the call. */
  static start(live: ObservedCall, continues?: string): CallObserver | undefined {
    const { telemetry } = live.engine;
    if (telemetry.port === undefined) return undefined;
    try {
      const port = telemetry.port.startCall({
        toolName:
          live.tool === undefined ? name(live, live.request.name) : telemetry.shownNameOf(live.tool.name),
        isKnownTool: live.tool !== undefined,
        parent: live.traceparent,
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
    const shown = { sessionId: name(this.#live, sessionId), callId: name(this.#live, callId) };
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

  /** Runs the body once, whatever telemetry does. Its own time is not part of the body's. */
  runBody<Value>(run: () => Value): Value {
    let end: { readonly value: Value } | { readonly error: unknown } | undefined;
    const once = (): Value | undefined => {
      if (end !== undefined) return 'value' in end ? end.value : undefined;
      try {
        const value = run();
        end = { value };
        return value;
      } catch (error) {
        end = { error };
        return undefined;
      }
    };
    this.#safely((port) => {
      port.runBody?.(once);
    });
    if (end === undefined) once();
    const ended = end as { readonly value: Value } | { readonly error: unknown } | undefined; // set by `once`
    if (ended !== undefined && 'value' in ended) return ended.value;
    throw ended?.error;
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
    this.#safely((port) => port.end(settled === undefined ? { type: 'left' } : this.#toEnd(settled)));
    this.#port = undefined;
    this.isRecording = false;
  }

  #toEnd(outcome: ToolOutcome): Parameters<CallTelemetry['end']>[0] {
    const attempts = this.#live.journal.call?.attempt ?? 0;
    return {
      type: 'settled',
      outcome: outcome.type,
      code: 'code' in outcome ? outcome.code : undefined,
      attempts,
      bodyMs: attempts > 0 && 'elapsedMs' in outcome ? outcome.elapsedMs : undefined,
      isFirst: !this.#isRecalled,
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
    this.#isRecalled = true;
    this.note({ type: 'recalled', how, from: this.#live.journal.call?.traceparent });
  }

  #safely(tell: (port: CallTelemetry) => unknown): void {
    if (this.#port === undefined) return;
    try {
      const answer = tell(this.#port);
      if (answer instanceof Promise) answer.catch((error: unknown) => this.#telemetry.report(error));
    } catch (error) {
      this.#port = undefined;
      this.isRecording = false;
      this.#telemetry.report(error);
    }
  }
}

const name = (live: ObservedCall, text: string): string => cutText(clean(live, safeId(text)), longestName);

const forget = (promise: PromiseLike<unknown>): void => void promise.then(undefined, () => undefined);
