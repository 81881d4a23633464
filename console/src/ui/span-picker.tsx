/** Which stretch of time a page shows, kept in its address. */
import type { ReactNode } from 'react';
import { addressOf, goTo, usePlace } from '../router.ts';

const spans = [
  ['5m', 'Last 5 minutes', 300_000],
  ['15m', 'Last 15 minutes', 900_000],
  ['1h', 'Last hour', 3_600_000],
  ['24h', 'Last 24 hours', 86_400_000],
  ['7d', 'Last 7 days', 7 * 86_400_000],
  ['30d', 'Last 30 days', 30 * 86_400_000],
] as const;
type SpanKey = (typeof spans)[number][0];
export type Span = { readonly key: SpanKey; readonly ms: number };

/** The one in the address, or `usual`. */
export function useSpan(usual: SpanKey): Span {
  const asked = usePlace().query.get('span');
  const [key, , ms] =
    spans.find(([each]) => each === asked) ?? spans.find(([each]) => each === usual) ?? spans[0];
  return { key, ms };
}

export function SpanPicker({ span }: { readonly span: Span }): ReactNode {
  const { path, query } = usePlace();
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
