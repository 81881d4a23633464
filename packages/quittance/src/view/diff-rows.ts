/** Rows of a unified diff, with the changed part of each changed line. */

export type DiffRow =
  | { readonly kind: 'hunk'; readonly text: string }
  | { readonly kind: 'note'; readonly text: string }
  | {
      readonly kind: 'same' | 'added' | 'removed';
      /** Line numbers before and after; undefined on the side that lacks the line. */
      readonly before: number | undefined;
      readonly after: number | undefined;
      readonly text: string;
      /**
       * Start and end of the part that differs from the paired line. Undefined if the whole line was added or removed.
       */
      readonly changed: readonly [number, number] | undefined;
    };

export type Diff = { readonly rows: readonly DiffRow[]; readonly added: number; readonly removed: number };

/**
 * Reads the diff line by line. Inside a hunk, the counts in its header decide which lines belong to it. A removed line
 * that starts with `--` is therefore not mistaken for a file header. A diff without hunks has no line numbers; some
 * tools write one for a single changed line. Other text is shown as notes.
 */
export function readDiff(diff: string): Diff {
  const lines = diff.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  const rows = lines.some((line) => hunkHead.test(line)) ? readHunks(lines) : readBareLines(lines);
  const count = (kind: DiffRow['kind']): number => rows.filter((row) => row.kind === kind).length;
  return { rows: markChanges(rows), added: count('added'), removed: count('removed') };
}

const kinds: Readonly<Partial<Record<string, 'added' | 'removed' | 'same'>>> = {
  '+': 'added',
  '-': 'removed',
  ' ': 'same',
};

/** If the first line has a sign, the text is a diff. Lines without a sign, such as "truncated", are notes. */
function readBareLines(lines: readonly string[]): readonly DiffRow[] {
  const heads = lines[0]?.startsWith('--- ') === true && lines[1]?.startsWith('+++ ') === true ? 2 : 0;
  const isDiff = /^[-+ ]/.test(lines[heads] ?? '') && lines.slice(heads).some((line) => /^[-+]/.test(line));
  return lines.map((line, index) => {
    const kind = isDiff && index >= heads ? kinds[line.slice(0, 1)] : undefined;
    if (kind === undefined) return { kind: 'note', text: line };
    return { kind, before: undefined, after: undefined, text: line.slice(1), changed: undefined };
  });
}

function readHunks(lines: readonly string[]): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  let [before, after, beforeLeft, afterLeft] = [0, 0, 0, 0];
  for (const line of lines) {
    const [sign, text] = [line.slice(0, 1), line.slice(1)];
    if (sign === '+' && afterLeft > 0) {
      rows.push({ kind: 'added', before: undefined, after: after++, text, changed: undefined });
      afterLeft--;
    } else if (sign === '-' && beforeLeft > 0) {
      rows.push({ kind: 'removed', before: before++, after: undefined, text, changed: undefined });
      beforeLeft--;
    } else if ((sign === ' ' || sign === '') && beforeLeft > 0 && afterLeft > 0) {
      rows.push({ kind: 'same', before: before++, after: after++, text, changed: undefined });
      beforeLeft--;
      afterLeft--;
    } else {
      const head = hunkHead.exec(line);
      if (head === null) {
        rows.push({ kind: 'note', text: line });
        continue;
      }
      [before, beforeLeft, after, afterLeft] = [head[1], head[2] ?? 1, head[3], head[4] ?? 1].map(Number) as [
        number,
        number,
        number,
        number,
      ];
      rows.push({ kind: 'hunk', text: line });
    }
  }
  return rows;
}

const hunkHead = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;

/** Pairs each removed line with the added line that replaces it, and marks the part that differs. */
function markChanges(rows: readonly DiffRow[]): readonly DiffRow[] {
  const marked = [...rows];
  for (let at = 0; at < rows.length;) {
    const removed = runOf(rows, at, 'removed');
    const added = runOf(rows, at + removed, 'added');
    for (let index = at; index < at + Math.min(removed, added); index++)
      markPair(marked, index, index + removed);
    at += Math.max(1, removed + added);
  }
  return marked;
}

function runOf(rows: readonly DiffRow[], from: number, kind: DiffRow['kind']): number {
  let to = from;
  while (rows[to]?.kind === kind) to++;
  return to - from;
}

function markPair(rows: DiffRow[], removedAt: number, addedAt: number): void {
  const [removed, added] = [rows[removedAt], rows[addedAt]];
  if (removed?.kind !== 'removed' || added?.kind !== 'added') return;
  const shortest = Math.min(removed.text.length, added.text.length);
  let start = 0;
  while (start < shortest && removed.text[start] === added.text[start]) start++;
  let end = 0;
  while (end < shortest - start && removed.text.at(-1 - end) === added.text.at(-1 - end)) end++;
  // Lines with little in common are shown as two lines. A surrogate pair is never split.
  if (start + end < shortest / 3 || isInsidePair(removed.text, start) || isInsidePair(added.text, start))
    return;
  rows[removedAt] = { ...removed, changed: [start, removed.text.length - end] };
  rows[addedAt] = { ...added, changed: [start, added.text.length - end] };
}

const isInsidePair = (text: string, at: number): boolean => /[\uD800-\uDBFF]/.test(text[at - 1] ?? '');
