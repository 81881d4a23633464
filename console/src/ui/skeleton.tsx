import type { ReactNode } from 'react';

/** Holds the place of what is being read. */
export function Skeleton({ rows = 3 }: { readonly rows?: number }): ReactNode {
  return (
    <div className="skeleton" aria-busy="true">
      <span className="hidden">Loading…</span>
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="skeleton-row" />
      ))}
    </div>
  );
}
