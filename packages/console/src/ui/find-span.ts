/** Time spans a page can show, and the choice of a useful one. */
import type { CallPage } from '@quittance/server/internal/http/api/call';

export const spans = [
  ['5m', 'Last 5 minutes', 300_000],
  ['15m', 'Last 15 minutes', 900_000],
  ['1h', 'Last hour', 3_600_000],
  ['24h', 'Last 24 hours', 86_400_000],
  ['7d', 'Last 7 days', 7 * 86_400_000],
  ['30d', 'Last 30 days', 30 * 86_400_000],
] as const;
export type SpanKey = (typeof spans)[number][0];

/** Can a person choose a longer span? */
export const isLongestSpan = (key: SpanKey | undefined): boolean => key === spans.at(-1)?.[0];

/** Reads the newest call before a time, or the newest of all. */
type AskNewest = (until: number | undefined) => Promise<Pick<CallPage, 'rows'>>;

/**
 * The usual span, unless another shows more. A longer one if the usual span has no calls; a shorter one if all calls
 * would crowd its end.
 */
export async function findSpan(usual: SpanKey, now: number, askNewest: AskNewest): Promise<SpanKey> {
  const [newest] = (await askNewest(undefined)).rows;
  if (newest === undefined) return usual;
  const index = spans.findIndex(([key]) => key === usual);
  const age = now - newest.requestedAt;
  if (age > (spans[index]?.[2] ?? 0))
    return (spans.find(([, , ms]) => ms >= age) ?? spans.at(-1) ?? spans[0])[0];
  for (const [key, , ms] of spans.slice(0, index))
    if ((await askNewest(now - ms)).rows.length === 0) return key;
  return usual;
}
