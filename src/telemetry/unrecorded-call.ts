/** A call whose span is not recorded. Most calls of a busy service are such calls, so they get by with one small object. */
import type { Context, Span } from '@opentelemetry/api';
import type { CallEnd, CallStart, CallTelemetry } from '../runtime/host/telemetry.ts';
import type { SpanMaker } from './call-span.ts';

export class UnrecordedCall implements CallTelemetry {
  readonly traceparent: string | undefined;
  private readonly maker: SpanMaker;
  private readonly start: CallStart;
  private readonly span: Span | undefined;
  private readonly from: Context;

  /** `span`: the one that the body runs with. Undefined if the context of the caller says already that nothing is sampled. */
  constructor(
    maker: SpanMaker,
    start: CallStart,
    traceparent: string | undefined,
    from: Context,
    span: Span | undefined,
  ) {
    this.maker = maker;
    this.start = start;
    this.traceparent = traceparent;
    this.from = from;
    this.span = span;
  }

  get isRecording(): false {
    return false;
  }

  get attemptTraceparent(): undefined {
    return undefined;
  }

  note(): void {
    // Nothing is recorded.
  }

  /** The body runs with the span, so that what it starts is not sampled either. */
  get runBody(): CallTelemetry['runBody'] {
    return this.span === undefined ? undefined : this.runWithSpan;
  }

  private runWithSpan<Value>(body: () => Value): Value {
    const { maker, span, from } = this;
    return span === undefined ? body() : maker.run(maker.within(from, span), body);
  }

  end(end: CallEnd): void {
    if (end.type === 'settled' && end.isFirst) this.maker.instruments?.noteEnd(this.start, end);
  }
}
