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
  /** Minimum width, because later rows may need it. */
  readonly usual?: number;
  /** May be dropped; the highest number goes first. */
  readonly optional?: number;
};

export type Cell = string | { readonly text: string; readonly style: Style };
/** One cell per column of the table. */
export type Row = readonly Cell[];

export type Table = { readonly heading: () => string; readonly line: (row: Row) => string };
type Paint = (style: Style, text: string) => string;

const gap = '  ';
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
  const kept = new Set(columns.keys());
  let widths = shrink(columns, natural, kept, width);
  while (widths === undefined) {
    const least = [...kept].reduce((one, other) =>
      (columns[other]?.optional ?? 0) >= (columns[one]?.optional ?? 0) ? other : one,
    );
    if (columns[least]?.optional === undefined) break;
    kept.delete(least);
    widths = shrink(columns, natural, kept, width);
  }
  const final = widths ?? columns.map(({ min }, index) => min ?? natural[index] ?? 0);
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
  columns: readonly Column[],
  natural: readonly number[],
  kept: ReadonlySet<number>,
  width: number,
): number[] | undefined {
  const widths = [...natural];
  const total = (): number =>
    [...kept].reduce((sum, index) => sum + (widths[index] ?? 0) + gap.length, -gap.length);
  while (total() > width) {
    const widest = [...kept]
      .filter((index) => (widths[index] ?? 0) > (columns[index]?.min ?? Number.POSITIVE_INFINITY))
      .reduce((one, other) => ((widths[other] ?? 0) > (widths[one] ?? -1) ? other : one), -1);
    if (widest === -1) return undefined;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}
