import { useState } from 'react';
import type { CallsView } from './calls-view.ts';
import { readView, viewAddress } from './calls-view.ts';

/** A named view. This browser stores the name; the view itself is an address. */
export type SavedView = { readonly name: string; readonly view: CallsView };

const storeName = 'quittance.views';
const most = 20;

export function useSavedViews(): {
  readonly views: readonly SavedView[];
  readonly save: (name: string, view: CallsView) => void;
  readonly drop: (name: string) => void;
} {
  const [views, setViews] = useState(readKept);
  const keep = (next: readonly SavedView[]): void => {
    setViews(next);
    const kept = next.map(({ name, view }) => ({ name, address: viewAddress(view) }));
    window.localStorage.setItem(storeName, JSON.stringify(kept));
  };
  return {
    views,
    save: (name, view) => keep([...views.filter((each) => each.name !== name), { name, view }].slice(-most)),
    drop: (name) => keep(views.filter((each) => each.name !== name)),
  };
}

/** Stored views may come from another version, so they are checked. */
function readKept(): readonly SavedView[] {
  try {
    const kept: unknown = JSON.parse(window.localStorage.getItem(storeName) ?? '[]');
    return !Array.isArray(kept)
      ? []
      : kept.flatMap((each: unknown) => {
          if (typeof each !== 'object' || each === null || !('name' in each) || !('address' in each))
            return [];
          const { name, address } = each;
          if (typeof name !== 'string' || typeof address !== 'string') return [];
          return [{ name, view: readView(new URLSearchParams(address.split('?')[1] ?? '')) }];
        });
  } catch {
    return [];
  }
}
