/**
 * Which call of one session is which of another. Calls with the same tool and input, or the same tool and id, are the
 * same call as far as their order allows: as many as can be. Then those that stand elsewhere in the other session, as
 * calls that run side by side do; then, between two that match, calls of one tool in their order. What is left stands
 * alone.
 */

export type Alignable = { readonly callId: string; readonly toolName: string; readonly key: string };

/** Indexes into either list; undefined where the other has no such call. */
export type Aligned = {
  readonly a: number | undefined;
  readonly b: number | undefined;
  /** The same call, at another place in the order. */
  readonly moved?: true;
};

export function alignCalls(a: readonly Alignable[], b: readonly Alignable[]): readonly Aligned[] {
  const matches = longestMatch(a, b);
  const pairs = new Pairs();
  for (const [atA, atB] of matches) pairs.take(atA, atB);
  const moved = new Set([
    ...pairs.takeBy(a, b, ({ toolName, callId }) => JSON.stringify([toolName, callId])),
    ...pairs.takeBy(a, b, ({ toolName, key }) => JSON.stringify([toolName, key])),
  ]);
  const aligned: Aligned[] = [];
  let [fromA, fromB] = [0, 0];
  for (const [atA, atB] of [...matches, [a.length, b.length] as const]) {
    const [gapA, gapB] = [a.slice(fromA, atA), b.slice(fromB, atB)];
    pairs.takeBy(gapA, gapB, ({ toolName }) => toolName, fromA, fromB);
    for (let index = fromA; index < Math.min(atA + 1, a.length); index++)
      aligned.push({ a: index, b: pairs.of(index), ...(moved.has(index) && { moved: true as const }) });
    // Before the match, where they came.
    const alone = gapB.flatMap((_, index) =>
      pairs.hasB(fromB + index) ? [] : [{ a: undefined, b: fromB + index }],
    );
    aligned.splice(atA < a.length ? -1 : aligned.length, 0, ...alone);
    [fromA, fromB] = [atA + 1, atB + 1];
  }
  return aligned;
}

/** Which calls belong together, so far. */
class Pairs {
  readonly #ofA = new Map<number, number>();
  readonly #usedB = new Set<number>();

  of(a: number): number | undefined {
    return this.#ofA.get(a);
  }

  hasB(b: number): boolean {
    return this.#usedB.has(b);
  }

  take(a: number, b: number): void {
    this.#ofA.set(a, b);
    this.#usedB.add(b);
  }

  /** Pairs those that are still alone and have the same word, in their order. Gives the first of each. */
  takeBy(
    a: readonly Alignable[],
    b: readonly Alignable[],
    wordOf: (call: Alignable) => string,
    fromA = 0,
    fromB = 0,
  ): readonly number[] {
    const waiting = new Map<string, number[]>();
    // From the end, so that the first is the last of the list and cheap to take.
    for (let index = b.length - 1; index >= 0; index--) {
      if (this.#usedB.has(fromB + index)) continue;
      const word = wordOf(b[index] as Alignable);
      const list = waiting.get(word);
      if (list === undefined) waiting.set(word, [fromB + index]);
      else list.push(fromB + index);
    }
    const taken: number[] = [];
    for (let index = 0; index < a.length; index++) {
      if (this.#ofA.has(fromA + index)) continue;
      const other = waiting.get(wordOf(a[index] as Alignable))?.pop();
      if (other === undefined) continue;
      this.take(fromA + index, other);
      taken.push(fromA + index);
    }
    return taken;
  }
}

const isSame = (one: Alignable | undefined, other: Alignable | undefined): boolean =>
  one !== undefined &&
  other !== undefined &&
  one.toolName === other.toolName &&
  (one.key === other.key || one.callId === other.callId);

type Match = readonly [a: number, b: number];

/** Beyond so many edits, sessions have little in common and what they have is found by what stands there once. */
const mostEdits = 2_000;

function longestMatch(a: readonly Alignable[], b: readonly Alignable[]): readonly Match[] {
  let start = 0;
  while (start < a.length && isSame(a[start], b[start])) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && isSame(a.at(-1 - end), b.at(-1 - end))) end++;
  const middle = findPath(
    { start, length: a.length - end - start },
    { start, length: b.length - end - start },
    (x, y) => isSame(a[x], b[y]),
  );
  return [
    ...Array.from({ length: start }, (_, index): Match => [index, index]),
    ...middle,
    ...Array.from({ length: end }, (_, index): Match => [a.length - end + index, b.length - end + index]),
  ];
}

type Range = { readonly start: number; readonly length: number };

/** The greedy way through the edit graph (Myers, 1986): few edits are found in little time, however long the lists. */
function findPath(a: Range, b: Range, same: (x: number, y: number) => boolean): readonly Match[] {
  const trails: Int32Array[] = [];
  let furthest = new Int32Array([0, 0, 0]);
  for (let edits = 0; edits <= Math.min(a.length + b.length, mostEdits); edits++) {
    // Diagonals from -edits to edits, one to spare on either side.
    const next = new Int32Array(2 * edits + 3);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const before = (other: number): number => furthest[other + edits] ?? 0;
      const goesDown =
        diagonal === -edits || (diagonal !== edits && before(diagonal - 1) < before(diagonal + 1));
      let x = edits === 0 ? 0 : goesDown ? before(diagonal + 1) : before(diagonal - 1) + 1;
      let y = x - diagonal;
      while (x < a.length && y < b.length && same(a.start + x, b.start + y)) [x, y] = [x + 1, y + 1];
      next[diagonal + edits + 1] = x;
      if (x >= a.length && y >= b.length) {
        trails.push(next);
        return walkBack(trails, a, b);
      }
    }
    trails.push(next);
    furthest = next;
  }
  return [];
}

function walkBack(trails: readonly Int32Array[], a: Range, b: Range): readonly Match[] {
  const matches: Match[] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = trails.length - 1; edits >= 0; edits--) {
    const before = trails[edits - 1];
    const diagonal = x - y;
    const at = (other: number): number => before?.[other + edits] ?? 0;
    const goesDown = diagonal === -edits || (diagonal !== edits && at(diagonal - 1) < at(diagonal + 1));
    const fromX = edits === 0 ? 0 : goesDown ? at(diagonal + 1) : at(diagonal - 1);
    const fromY = edits === 0 ? 0 : fromX - (goesDown ? diagonal + 1 : diagonal - 1);
    const reached = edits === 0 ? 0 : goesDown ? fromX : fromX + 1;
    while (x > reached) {
      [x, y] = [x - 1, y - 1];
      matches.push([a.start + x, b.start + y]);
    }
    [x, y] = [fromX, fromY];
  }
  return matches.reverse();
}
