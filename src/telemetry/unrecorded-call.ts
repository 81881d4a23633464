/** A call whose span is not recorded. Its context still reaches the body: what the body starts is not sampled either. */
import type { Context, Span } from '@opentelemetry/api';
import type { CallEnd, CallStart, CallTelemetry } from '../runtime/host/telemetry.ts';
import type { SpanMaker } from './call-span.ts';

export class UnrecordedCall implements CallTelemetry {
  readonly isRecording = false;
  readonly attemptTraceparent = undefined;
  readonly traceparent: string | undefined;
  readonly runBody: CallTelemetry['runBody'];
  readonly #maker: SpanMaker;
  readonly #start: CallStart;

  constructor(
    maker: SpanMaker,
    start: CallStart,
    traceparent: string | undefined,
    runBody: CallTelemetry['runBody'],
  ) {
    this.#maker = maker;
    this.#start = start;
    this.traceparent = traceparent;
    this.runBody = runBody;
  }

  note(): void {
    // Nothing is recorded.
  }

  end(end: CallEnd): void {
    if (end.type === 'settled' && end.isFirst) this.#maker.instruments?.noteEnd(this.#start, end);
  }
}

/** Runs the body with a span that is not recorded. */
export const runWithin =
  ({ run, within }: SpanMaker, span: Span, from: Context): NonNullable<CallTelemetry['runBody']> =>
  (body) =>
    run(within(span, from), body);
