/** Computes a unified diff of two texts. */

/** Context lines around a change. */
const context = 3;
/** Limit of compared line pairs. Beyond it, the whole difference is shown as one removal and one addition. */
const mostPairs = 4_000_000;

type Step = { readonly sign: ' ' | '-' | '+'; readonly text: string };

/** Returns an empty string if the texts are equal. */
export function unifiedDiff(before: string, after: string): string {
  const steps = stepsBetween(linesOf(before), linesOf(after));
  const changed = steps.flatMap(({ sign }, index) => (sign === ' ' ? [] : [index]));
  const hunks: (readonly [number, number])[] = [];
  for (const index of changed) {
    const [from, to] = [Math.max(0, index - context), Math.min(steps.length, index + context + 1)];
    const last = hunks.at(-1);
    if (last !== undefined && from <= last[1]) hunks[hunks.length - 1] = [last[0], to];
    else hunks.push([from, to]);
  }
  return hunks.map(([from, to]) => writeHunk(steps, from, to)).join('');
}

function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function writeHunk(steps: readonly Step[], from: number, to: number): string {
  const count = (part: readonly Step[], sign: '-' | '+'): number =>
    part.filter((step) => step.sign === ' ' || step.sign === sign).length;
  const [earlier, here] = [steps.slice(0, from), steps.slice(from, to)];
  const head = (sign: '-' | '+'): string => {
    const lines = count(here, sign);
    // A side without lines is addressed by the line before it.
    return `${sign}${count(earlier, sign) + (lines === 0 ? 0 : 1)},${lines}`;
  };
  return `@@ ${head('-')} ${head('+')} @@\n${here.map(({ sign, text }) => `${sign}${text}\n`).join('')}`;
}

function stepsBetween(before: readonly string[], after: readonly string[]): readonly Step[] {
  const shortest = Math.min(before.length, after.length);
  let start = 0;
  while (start < shortest && before[start] === after[start]) start++;
  let end = 0;
  while (end < shortest - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const same = (lines: readonly string[]): readonly Step[] => lines.map((text) => ({ sign: ' ', text }));
  return [
    ...same(before.slice(0, start)),
    ...compare(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ];
}

/** Longest common subsequence, with removals before additions. */
function compare(before: readonly string[], after: readonly string[]): readonly Step[] {
  const width = after.length + 1;
  const all = (): readonly Step[] => [
    ...before.map((text): Step => ({ sign: '-', text })),
    ...after.map((text): Step => ({ sign: '+', text })),
  ];
  if (before.length * after.length > mostPairs) return all();
  const common = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row--)
    for (let column = after.length - 1; column >= 0; column--)
      common[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const steps: Step[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const [gone, come] = [before[row], after[column]];
    if (gone !== undefined && gone === come) {
      steps.push({ sign: ' ', text: gone });
      row++;
      column++;
    } else if (gone !== undefined && (come === undefined || at(row + 1, column) >= at(row, column + 1))) {
      steps.push({ sign: '-', text: gone });
      row++;
    } else {
      steps.push({ sign: '+', text: come ?? '' });
      column++;
    }
  }
  return steps;
}
