import type { ReactNode } from 'react';
import { useMe } from '../api/use-me.ts';
import { formatCost } from './time.tsx';

/** An amount in the currency of the ledger. Without a currency it is a number of units. */
export function Cost({ micros }: { readonly micros: number }): ReactNode {
  return formatCost(micros, useMe().console.currency);
}
