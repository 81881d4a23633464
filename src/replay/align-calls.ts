/**
 * Pairs the calls of two sessions. First: as many calls as possible with the same tool and input, or the same tool
 * and id, in order. Second: such calls at another place in the order, as parallel calls have. Third: calls of one
 * tool between two matches, in their order. The rest stays unpaired.
 */

export type Alignable = { readonly callId: string; readonly toolName: string; readonly key: string };

/** Indexes into the two lists; undefined if the other session has no such call. */
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
    // Placed before the match, in their original order.
    const alone = gapB.flatMap((_, index) =>
      pairs.hasB(fromB + index) ? [] : [{ a: undefined, b: fromB + index }],
    );
    aligned.splice(atA < a.length ? -1 : aligned.length, 0, ...alone);
    [fromA, fromB] = [atA + 1, atB + 1];
  }
  return aligned;
}

/** The pairs found so far. */
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

  /** Pairs unpaired calls with the same key, in their order. Returns the first of each. */
  takeBy(
    a: readonly Alignable[],
    b: readonly Alignable[],
    wordOf: (call: Alignable) => string,
    fromA = 0,
    fromB = 0,
  ): readonly number[] {
    const waiting = new Map<string, number[]>();
    // From the end, so that the first is the last of the list and cheap to remove.
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

/** Beyond this number of edits, the sessions have little in common. Matching then uses calls that occur once. */
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

/** The greedy algorithm of Myers (1986): fast for few edits, however long the lists are. */
function findPath(a: Range, b: Range, same: (x: number, y: number) => boolean): readonly Match[] {
  const trails: Int32Array[] = [];
  let furthest = new Int32Array([0, 0, 0]);
  for (let edits = 0; edits <= Math.min(a.length + b.length, mostEdits); edits++) {
    // Diagonals from -edits to edits, with one spare on either side.
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
