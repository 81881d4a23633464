import { readTraceparent } from '../../base/traceparent.ts';

/** A call with the trace contexts of its caller and of its turn. */
export type TracedCall = {
  readonly options: { readonly traceparent?: string };
  readonly turn: { readonly traceparent: string | undefined };
};

/** The trace context that the caller sent. */
export const traceparentOf = ({ options, turn }: TracedCall): string | undefined =>
  options.traceparent === undefined
    ? turn.traceparent
    : (readTraceparent(options.traceparent) ?? turn.traceparent);
