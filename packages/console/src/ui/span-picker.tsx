/** The time span that a page shows, stored in its address. */
import type { ReactNode } from 'react';
import { useContext, useEffect, useState } from 'react';
import type { CallPage } from '@quittance/server/internal/http/api/call';
import { get } from '../api/client.ts';
import { addressOf, goTo, useRoute } from '../route.ts';
import type { SpanKey } from './find-span.ts';
import { findSpan, spans } from './find-span.ts';
import { SkewContext } from './skew.ts';

export type Span = { readonly key: SpanKey; readonly ms: number };

/** The span in the address, or one that contains calls. Undefined until it is known. */
export function useSpan(usual: SpanKey, toolName?: string): Span | undefined {
  const asked = useRoute().query.get('span');
  const isAsked = spans.some(([key]) => key === asked);
  const skewMs = useContext(SkewContext);
  const [found, setFound] = useState<SpanKey>();
  useEffect(() => {
    if (isAsked || found !== undefined) return;
    const stop = new AbortController();
    findSpan(usual, Date.now() + skewMs, (until) =>
      get<CallPage>('/v1/calls', { limit: 1, toolName, until }, stop.signal),
    ).then(setFound, () => {
      // The page's own request shows the error.
      if (!stop.signal.aborted) setFound(usual);
    });
    return () => stop.abort();
  }, [isAsked, found, usual, skewMs, toolName]);
  const span = spans.find(([key]) => key === (isAsked ? asked : found));
  return span && { key: span[0], ms: span[2] };
}

export function SpanPicker({ span }: { readonly span: Span }): ReactNode {
  const { path, query } = useRoute();
  return (
    <label>
      <span className="hidden">Time</span>
      <select
        value={span.key}
        onChange={(event) =>
          goTo(addressOf(path, { ...Object.fromEntries(query), span: event.target.value }), { replace: true })
        }
      >
        {spans.map(([key, label]) => (
          <option key={key} value={key}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
