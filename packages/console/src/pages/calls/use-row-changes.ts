/** Marks rows that are new or have changed since the page showed them, for a few seconds. */
import { useEffect, useRef, useState } from 'react';
import type { CallSummary } from 'quittance/internal/ledger/call-query';
import { rowKey } from './call-list.ts';

export type RowChange = 'new' | 'changed';

const markedMs = 6_000;

/** `viewKey`: rows of another view are not changes. */
export function useRowChanges(rows: readonly CallSummary[], viewKey: string): ReadonlyMap<string, RowChange> {
  const known = useRef<{ viewKey: string; states: ReadonlyMap<string, string>; newest: number }>(undefined);
  const [changes, setChanges] = useState<ReadonlyMap<string, RowChange>>(new Map());
  useEffect(() => {
    const before = known.current;
    const states = new Map(rows.map((row) => [rowKey(row), stateOf(row)]));
    const newest = rows.reduce((latest, { requestedAt }) => Math.max(latest, requestedAt), 0);
    known.current = { viewKey, states, newest };
    if (before?.viewKey !== viewKey) {
      setChanges(new Map());
      return;
    }
    const found = new Map<string, RowChange>();
    for (const row of rows) {
      const key = rowKey(row);
      const state = before.states.get(key);
      // Older rows come from the next page.
      if (state === undefined ? row.requestedAt >= before.newest : state !== stateOf(row))
        found.set(key, state === undefined ? 'new' : 'changed');
    }
    if (found.size > 0) setChanges((shown) => new Map([...shown, ...found]));
  }, [rows, viewKey]);
  useEffect(() => {
    if (changes.size === 0) return;
    const timer = setTimeout(() => setChanges(new Map()), markedMs);
    return () => clearTimeout(timer);
  }, [changes]);
  return changes;
}

const stateOf = ({ status, outcome, unresolved, attempts }: CallSummary): string =>
  `${status} ${outcome ?? ''} ${unresolved} ${attempts}`;
