import type { ReactNode } from 'react';

/** The number for people. */
export const countText = (value: number): string => (value > 99 ? '99+' : String(value));

/** Number of waiting items. Hidden if zero. */
export function Count({ value, label }: { readonly value: number; readonly label: string }): ReactNode {
  if (value === 0) return null;
  return (
    <span className="count">
      {countText(value)}
      <span className="hidden"> {label}</span>
    </span>
  );
}
