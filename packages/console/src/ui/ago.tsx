import type { ReactNode } from 'react';
import { formatAge, formatTime, useServerNow } from './time.tsx';

/** A relative time: `4m ago`, `just now`. */
export function Ago({ at }: { readonly at: number }): ReactNode {
  const now = useServerNow(1_000);
  const age = formatAge(Math.max(0, now - at));
  return (
    <time dateTime={new Date(at).toISOString()} title={formatTime(at)}>
      {age === 'now' ? 'just now' : `${age} ago`}
    </time>
  );
}
