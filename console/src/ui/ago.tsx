import type { ReactNode } from 'react';
import { formatAge, formatMoment, useNow } from './time.tsx';

/** How long ago, in a sentence: `just now`, `4m ago`. */
export function Ago({ at }: { readonly at: number }): ReactNode {
  const ms = useNow(1_000) - at;
  return (
    <time dateTime={new Date(at).toISOString()} title={formatMoment(at)}>
      {ms < 1_000 ? 'just now' : `${formatAge(ms)} ago`}
    </time>
  );
}
