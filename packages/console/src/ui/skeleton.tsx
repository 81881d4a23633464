import type { ReactNode } from 'react';

/** Placeholder while content loads. */
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
