/**
 * The span of one call and its children: hold, attempt, settle. Children and attributes are made only if the span is
 * recorded.
 */
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import { traceIdsOf } from '../base/traceparent.ts';
import type { CallEnd, CallMoment, CallStart, CallTelemetry } from '../runtime/host/telemetry.ts';
import type { CallInstruments } from './call-instruments.ts';

/** What all spans of a runtime share. */
export type SpanMaker = {
  readonly tracer: Tracer;
  readonly consoleUrl: string | undefined;
  readonly instruments: CallInstruments | undefined;
  /** The context with this span as the active one. */
  readonly within: (from: Context, span: Span) => Context;
  readonly run: <Value>(within: Context, body: () => Value) => Value;
};

export type StartedSpan = {
  readonly start: CallStart;
  readonly span: Span;
  readonly from: Context;
  readonly traceparent: string | undefined;
};

/** `SpanStatusCode.ERROR`: importing the value would load the package here. */
const error = 2;

export class CallSpan implements CallTelemetry {
  readonly traceparent: string | undefined;
  readonly isRecording = true;
  readonly #maker: SpanMaker;
  readonly #start: CallStart;
  readonly #span: Span;
  readonly #context: Context;
  readonly #offset: number;
  #hold: Span | undefined;
  #attempt: Span | undefined;
  #attemptContext: Context | undefined;
  #settle: Span | undefined;
  #held = false;
  /** The attempt ends with its body. How it ended is known only when that is stored. */
  #bodyEndedAt: number | undefined;

  constructor(maker: SpanMaker, { start, span, from, traceparent }: StartedSpan) {
    this.#maker = maker;
    this.#start = start;
    this.#span = span;
    this.#context = maker.within(from, span);
    this.#offset = Date.now() - performance.now();
    this.traceparent = traceparent;
  }

  /** One clock for all spans of the call: the SDK starts each on a whole millisecond of its own. */
  #now(): number {
    return this.#offset + performance.now();
  }

  note(moment: CallMoment): void {
    switch (moment.type) {
      case 'described':
        return this.#describe(moment);
      case 'judged':
        return this.#judge(moment);
      case 'held':
        this.#held = true;
        this.#hold ??= this.#child('hold');
        return;
      case 'decided':
        this.#hold?.setAttribute('quittance.decision', moment.decision);
        return this.#endHold();
      case 'attempt_started':
        return this.#startAttempt(moment);
      case 'body_ended':
        this.#bodyEndedAt = this.#now();
        this.#settle ??= this.#child('settle');
        return;
      case 'settling':
        this.#settle ??= this.#child('settle');
        return;
      case 'attempt_ended':
        return this.#endAttempt(moment);
      case 'recalled':
        this.#span.setAttribute('quittance.recalled', moment.how);
        if (moment.from !== undefined) this.#link(moment.from);
        return;
    }
  }

  #describe({ sessionId, turnId, callId, path, mode }: CallMoment & { type: 'described' }): void {
    const { consoleUrl } = this.#maker;
    this.#span.setAttributes({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': this.#start.toolName,
      'gen_ai.tool.call.id': callId,
      'gen_ai.tool.type': 'function',
      'gen_ai.conversation.id': sessionId,
      'quittance.session.id': sessionId,
      'quittance.turn.id': turnId,
      'quittance.mode': mode,
      ...(this.#start.continues !== undefined && { 'quittance.resumed': true }),
      ...(consoleUrl !== undefined && path !== undefined && { 'quittance.call.url': consoleUrl + path }),
    });
  }

  #judge({ decision, by, waited, policyVersion }: CallMoment & { type: 'judged' }): void {
    if (policyVersion !== undefined) this.#span.setAttribute('quittance.policy.version', policyVersion);
    for (const { gate, elapsedUs } of waited)
      this.#span.addEvent(
        'quittance.gate.waited',
        {
          'quittance.gate': gate,
          'quittance.elapsed_us': elapsedUs,
        },
        this.#now(),
      );
    if (decision === 'allow' || by === undefined) return;
    this.#span.addEvent(decision === 'deny' ? 'quittance.gate.denied' : 'quittance.gate.asked', {
      'quittance.decider.type': by.type,
      'quittance.decider.name': by.name,
    });
  }

  #startAttempt({ attempt, startedMsAgo }: CallMoment & { type: 'attempt_started' }): void {
    // The lease of a worker may end without a report. Then the next worker has the call.
    this.#closeAttempt();
    this.#attempt = this.#child('attempt', { 'quittance.attempt': attempt }, startedMsAgo);
    this.#attemptContext = this.#maker.within(this.#context, this.#attempt);
  }

  #endAttempt({ code, isFinal }: CallMoment & { type: 'attempt_ended' }): void {
    if (code !== undefined && this.#attempt !== undefined) {
      this.#attempt.setAttribute('error.type', code);
      this.#attempt.setStatus({ code: error, message: code });
    }
    this.#closeAttempt();
    this.#settle?.setAttribute('quittance.final', isFinal);
    this.#settle?.end(this.#now());
    this.#settle = undefined;
  }

  #closeAttempt(): void {
    this.#attempt?.end(this.#bodyEndedAt ?? this.#now());
    this.#attempt = undefined;
    this.#attemptContext = undefined;
    this.#bodyEndedAt = undefined;
  }

  #endHold(): void {
    this.#hold?.end(this.#now());
    this.#hold = undefined;
  }

  readonly runBody = <Value>(run: () => Value): Value =>
    this.#maker.run(this.#attemptContext ?? this.#context, run);

  get attemptTraceparent(): string | undefined {
    const found = this.#attempt?.spanContext();
    return found === undefined ? undefined : `00-${found.traceId}-${found.spanId}-0${found.traceFlags & 3}`;
  }

  end(end: CallEnd): void {
    this.#finish(end);
    this.#span.end(this.#now());
    if (end.type === 'settled' && end.isFirst) this.#maker.instruments?.noteEnd(this.#start, end);
  }

  #finish(end: CallEnd): void {
    this.#endHold();
    this.#closeAttempt();
    this.#settle?.end(this.#now());
    if (end.type === 'left') {
      this.#span.setAttribute('quittance.outcome', 'pending');
      return;
    }
    const { outcome, code, attempts } = end;
    this.#span.setAttributes({ 'quittance.outcome': outcome, 'quittance.attempts': attempts });
    if (this.#held) this.#span.setAttribute('quittance.held', true);
    if (code === undefined) return;
    this.#span.setAttribute('error.type', code);
    // A denial is a decision, not a failure.
    if (outcome === 'ToolFailure' || outcome === 'ToolTimeout')
      this.#span.setStatus({ code: error, message: code });
  }

  #child(name: string, attributes: Attributes = {}, startedMsAgo = 0): Span {
    const startTime = this.#now() - startedMsAgo;
    return this.#maker.tracer.startSpan(name, { attributes, startTime }, this.#context);
  }

  #link(traceparent: string): void {
    const { traceId, spanId, isSampled } = traceIdsOf(traceparent);
    const own = this.#span.spanContext();
    if (own.traceId === traceId && own.spanId === spanId) return;
    this.#span.addLink?.({ context: { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true } });
  }
}
