import { useContext, useRef } from 'react';
import type { Stats } from '@quittance/server/internal/http/api/stats';
import { SkewContext } from '../ui/skew.ts';
import type { Answered } from './use-answer.ts';
import { useAnswer } from './use-answer.ts';

const buckets = 48;

/** Statistics for the span, of all tools or of one. Without a span, no request is sent. */
export function useStats(spanMs: number | undefined, toolName?: string): Answered<Stats> {
  const skewMs = useContext(SkewContext);
  // Whole minutes keep the request the same between polls.
  const since = Math.floor((Date.now() + skewMs - (spanMs ?? 0)) / 60_000) * 60_000;
  const path = spanMs === undefined ? undefined : '/v1/stats';
  const answered = useAnswer<Stats>(path, { since, buckets, toolName }, { everyMs: 5_000 });
  // A new minute means a new request. Until its response arrives, the previous minute stays.
  const last = useRef<{ readonly of: string; readonly data: Stats } | undefined>(undefined);
  const of = JSON.stringify([spanMs, toolName]);
  if (answered.data !== undefined) last.current = { of, data: answered.data };
  return { ...answered, data: last.current?.of === of ? last.current.data : undefined };
}
