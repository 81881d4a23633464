/**
 * A call whose span is not recorded. Most calls of a busy service are such calls, so they get by with two small objects
 * and no closures.
 */
import type { Context, Span } from '@opentelemetry/api';
import type { CallEnd, CallStart, CallTelemetry } from '../runtime/host/telemetry.ts';
import type { SpanMaker } from './call-span.ts';

class Unrecorded {
  readonly traceparent: string | undefined;
  protected readonly maker: SpanMaker;
  private readonly start: CallStart;

  constructor(maker: SpanMaker, start: CallStart, traceparent: string | undefined) {
    this.maker = maker;
    this.start = start;
    this.traceparent = traceparent;
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

  end(end: CallEnd): void {
    if (end.type === 'settled' && end.isFirst) this.maker.instruments?.noteEnd(this.start, end);
  }
}

/** The context of the caller says already that nothing is sampled. */
export class UnrecordedCall extends Unrecorded implements CallTelemetry {
  get runBody(): undefined {
    return undefined;
  }
}

/** The body runs with the span, so that what it starts is not sampled either. */
export class UnrecordedSpan extends Unrecorded implements CallTelemetry {
  private readonly span: Span;
  private readonly from: Context;

  constructor(
    maker: SpanMaker,
    start: CallStart,
    traceparent: string | undefined,
    span: Span,
    from: Context,
  ) {
    super(maker, start, traceparent);
    this.span = span;
    this.from = from;
  }

  runBody<Value>(body: () => Value): Value {
    const { run, within } = this.maker;
    return run(within(this.from, this.span), body);
  }
}
