/** Draws mutations by a seed. An edit of the source adds and removes its own mutations only; the others stay drawn. */
import { createHash } from 'node:crypto';
import type { Mutation } from './mutations.ts';
import { applyMutation } from './mutations.ts';
import type { TypeCheck } from './check-types.ts';

export type Drawn = {
  readonly mutations: readonly Mutation[];
  /** Number of drawn mutations that the compiler refused. */
  readonly refused: number;
};

export function draw(
  all: readonly Mutation[],
  {
    seed,
    count,
    check,
    read,
  }: { seed: number; count: number; check: TypeCheck; read: (path: string) => string },
): Drawn {
  const place = (key: string): string => createHash('sha256').update(`${seed}\n${key}`).digest('hex');
  const shuffled = all
    .map((mutation) => ({ mutation, at: place(mutation.key) }))
    .toSorted((a, b) => (a.at < b.at ? -1 : 1));
  const mutations: Mutation[] = [];
  let refused = 0;
  for (const { mutation } of shuffled) {
    if (mutations.length === count) break;
    if (check(mutation.path, applyMutation(read(mutation.path), mutation))) mutations.push(mutation);
    else refused++;
  }
  return { mutations, refused };
}
