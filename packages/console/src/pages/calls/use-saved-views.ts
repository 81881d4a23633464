import { useState } from 'react';
import type { CallsView } from './calls-view.ts';
import { commonViews, readView, viewAddress } from './calls-view.ts';

/** A named view. This browser stores the name; the view itself is an address. */
export type SavedView = { readonly name: string; readonly view: CallsView };

const storeName = 'quittance.views';
const most = 20;

export type SavedViews = {
  readonly views: readonly SavedView[];
  /** Saves a view under a name. Returns why it cannot be saved. No view is replaced. */
  readonly save: (name: string, view: CallsView) => string | undefined;
  /** Returns why it cannot be renamed. */
  readonly rename: (name: string, next: string) => string | undefined;
  readonly drop: (name: string) => void;
};

export function useSavedViews(): SavedViews {
  const [views, setViews] = useState(readKept);
  const keep = (next: readonly SavedView[]): string | undefined => {
    const kept = next.map(({ name, view }) => ({ name, address: viewAddress(view) }));
    try {
      window.localStorage.setItem(storeName, JSON.stringify(kept));
    } catch {
      return 'This browser has no room to save the view.';
    }
    setViews(next);
    return undefined;
  };
  // Each change starts from the stored views: another tab may have changed them.
  return {
    views,
    save(name, view) {
      const before = readKept();
      if (before.length >= most) return `There are ${most} saved views. Delete one first.`;
      return whyTaken(name, before) ?? keep([...before, { name, view }]);
    },
    rename(name, next) {
      const before = readKept();
      const others = before.filter((each) => each.name !== name);
      return (
        whyTaken(next, others) ??
        keep(before.map((each) => (each.name === name ? { ...each, name: next } : each)))
      );
    },
    drop: (name) => void keep(readKept().filter((each) => each.name !== name)),
  };
}

const whyTaken = (name: string, views: readonly SavedView[]): string | undefined =>
  [...commonViews, ...views].some((each) => each.name.toLowerCase() === name.toLowerCase())
    ? `There is already a view named "${name}".`
    : undefined;

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
