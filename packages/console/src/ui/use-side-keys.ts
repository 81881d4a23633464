/** `j` and `k` move through a side list. */
import { useRef, useState } from 'react';
import { useShortcuts } from './use-shortcuts.ts';

export type SideKeys = {
  /** Increases with every move. */
  readonly moves: number;
  /** The item to select after the current one is done: the one that takes its place. */
  readonly next: string | undefined;
};

export function useSideKeys(
  keys: readonly string[],
  selected: string | undefined,
  select: (key: string) => void,
): SideKeys {
  const at = selected === undefined ? -1 : keys.indexOf(selected);
  const lastAt = useRef(0);
  if (at !== -1) lastAt.current = at;
  const [moves, setMoves] = useState(0);
  const move = (step: 1 | -1): void => {
    // A finished item has left the list: the item in its place is the next.
    const from = at === -1 ? (step === 1 ? lastAt.current - 1 : lastAt.current) : at;
    const next = keys[Math.min(Math.max(from + step, 0), keys.length - 1)];
    if (next === undefined) return;
    select(next);
    setMoves((before) => before + 1);
  };
  useShortcuts({ j: () => move(1), k: () => move(-1) });
  return {
    moves,
    next: at === -1 ? keys[Math.min(lastAt.current, keys.length - 1)] : (keys[at + 1] ?? keys[at - 1]),
  };
}
