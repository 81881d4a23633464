/**
 * The trace context that a caller sends with a call: `traceparent` of the W3C, version 00. Only hexadecimal digits
 * pass, so no text of a caller gets into the ledger or a trace this way.
 */

/** Nearly every context has this form already. */
const stored = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[0-3]$/;

const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;

/**
 * The context in its stored form, or undefined if it is malformed. Later versions of the format may add fields at the
 * end; version 00 may not. Only the flags that version 00 and its successor define are kept.
 */
export function readTraceparent(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > longest) return undefined;
  if (stored.test(value)) return value;
  const found = form.exec(value);
  if (found === null) return undefined;
  const [, version, traceId, spanId, flags = '00'] = found;
  if (version === '00' && value.length !== length) return undefined;
  return `00-${traceId}-${spanId}-0${Number.parseInt(flags, 16) & knownFlags}`;
}

const length = 55;
/** A later version may be longer, but a header of this size is not one. */
const longest = 512;
/** Sampled, and random trace id. */
const knownFlags = 0b11;

export type TraceIds = { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean };

/** The parts of a context in its stored form. */
export const traceIdsOf = (traceparent: string): TraceIds => ({
  traceId: traceparent.slice(3, 35),
  spanId: traceparent.slice(36, 52),
  isSampled: (Number.parseInt(traceparent.slice(53), 16) & 1) === 1,
});
