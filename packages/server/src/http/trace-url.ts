/** Links from calls to their traces, by a template of the host. */
import { QuittanceError } from 'quittance/internal/base/error';
import { readTraceparent, traceIdsOf } from 'quittance/internal/base/traceparent';

/** Throws if the template cannot lead to a trace. */
export function checkTraceUrl(template: string | undefined): void {
  if (template === undefined) return;
  const url = URL.parse(fill(template, '0', '0'));
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (isWeb && url.username === '' && url.password === '' && template.includes('{traceId}')) return;
  throw new QuittanceError(
    'config.invalid',
    'traceUrl must be an http or https address with {traceId} in it, e.g. https://traces.example.org/trace/{traceId}',
  );
}

/** The address of the trace. Undefined if the call has none, or if it was not sampled: there is nothing to see then. */
export function toTraceUrl(
  template: string | undefined,
  traceparent: string | undefined,
): string | undefined {
  // A ledger may come from elsewhere, so the stored text is checked again.
  const known = readTraceparent(traceparent);
  if (template === undefined || known === undefined) return undefined;
  const { traceId, spanId, isSampled } = traceIdsOf(known);
  return isSampled ? fill(template, traceId, spanId) : undefined;
}

const fill = (template: string, traceId: string, spanId: string): string =>
  template.replaceAll('{traceId}', traceId).replaceAll('{spanId}', spanId);
