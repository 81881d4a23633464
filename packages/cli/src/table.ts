/**
 * Tables that fit the page. Narrow pages cut columns first and then drop optional ones. The first rows determine the
 * layout; later rows keep it.
 */
import type { Style } from './terminal.ts';
import { fit, textWidth } from './text-width.ts';

export type Column = {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** May be cut to this width; without it, never cut. */
  readonly min?: number;
  /** Different ids stay different: people type what they see. */
  readonly isId?: true;
  /** Minimum width, because later rows may need it. */
  readonly usual?: number;
  /** May be dropped: columns without content first, then the highest number. */
  readonly optional?: number;
};

export type Cell = string | { readonly text: string; readonly style: Style };
/** One cell per column of the table. */
export type Row = readonly Cell[];

export type Table = { readonly heading: () => string; readonly line: (row: Row) => string };
type Paint = (style: Style, text: string) => string;

const gap = '  ';
/** Width of a cut column on a page that is too narrow for the smallest widths. */
const narrowest = 6;
const textOf = (cell: Cell): string => (typeof cell === 'string' ? cell : cell.text);

export function layOutTable(
  columns: readonly Column[],
  rows: readonly Row[],
  width: number,
  paint: Paint,
): Table {
  const natural = columns.map(({ title, usual = 0 }, index) =>
    Math.max(usual, textWidth(title), ...rows.map((row) => textWidth(textOf(row[index] ?? '')))),
  );
  const least = columns.map(({ min, isId }, index) =>
    min !== undefined && isId
      ? Math.max(min, distinctWidth(rows.map((row) => textOf(row[index] ?? ''))))
      : min,
  );
  const rank = (index: number): number => {
    const optional = columns[index]?.optional ?? 0;
    const isEmpty = rows.every((row) => textOf(row[index] ?? '') === '');
    return optional > 0 && isEmpty ? optional + columns.length : optional;
  };
  const kept = new Set(columns.keys());
  let widths = shrink(least, natural, kept, width);
  while (widths === undefined) {
    const next = [...kept].reduce((one, other) => (rank(other) >= rank(one) ? other : one));
    if (rank(next) === 0) break;
    kept.delete(next);
    widths = shrink(least, natural, kept, width);
  }
  const final =
    widths ??
    shrink(
      columns.map(({ min, isId }, index) => (isId ? least[index] : min && narrowest)),
      natural,
      kept,
      width,
    ) ??
    columns.map(({ min }, index) => min ?? natural[index] ?? 0);
  const draw = (cells: Row): string =>
    [...kept]
      .map((index) => {
        const cell = cells[index] ?? '';
        const text = fit(textOf(cell), final[index] ?? 0, columns[index]?.align);
        return typeof cell === 'string' ? text : paint(cell.style, text);
      })
      .join(gap)
      .trimEnd();
  return {
    heading: () => paint('dim', draw(columns.map(({ title }) => title))),
    line: draw,
  };
}

/** Widths that fit, or undefined if even the smallest do not. The widest columns shrink first. */
function shrink(
  least: readonly (number | undefined)[],
  natural: readonly number[],
  kept: ReadonlySet<number>,
  width: number,
): number[] | undefined {
  const widths = [...natural];
  const total = (): number =>
    [...kept].reduce((sum, index) => sum + (widths[index] ?? 0) + gap.length, -gap.length);
  while (total() > width) {
    const widest = [...kept]
      .filter((index) => (widths[index] ?? 0) > (least[index] ?? Number.POSITIVE_INFINITY))
      .reduce((one, other) => ((widths[other] ?? 0) > (widths[one] ?? -1) ? other : one), -1);
    if (widest === -1) return undefined;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

/** The width at which ids that differ are still cut to texts that differ, with the ellipsis. */
function distinctWidth(ids: readonly string[]): number {
  const sorted = [...new Set(ids)].sort();
  let width = 0;
  for (const [index, id] of sorted.entries()) {
    const before = sorted[index - 1] ?? '';
    let shared = 0;
    while (shared < before.length && before[shared] === id[shared]) shared++;
    width = Math.max(width, textWidth(id.slice(0, shared + 1)) + 1);
  }
  return width;
}
