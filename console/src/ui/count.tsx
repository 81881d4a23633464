import type { ReactNode } from 'react';

/** Number of waiting items. Hidden if zero. */
export function Count({ value, label }: { readonly value: number; readonly label: string }): ReactNode {
  if (value === 0) return null;
  return (
    <span className="count">
      {value > 99 ? '99+' : value}
      <span className="hidden"> {label}</span>
    </span>
  );
}
