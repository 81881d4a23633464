import type { Difference } from './input-difference.ts';
import type { Page } from './page-layout.ts';
import { block, indent } from './page-layout.ts';
import { valueText } from './preview-lines.ts';
import { safeText } from './safe-text.ts';

/** What was and what comes in its place, member by member; none of it cut. */
export function differenceLines(differences: readonly Difference[], page: Page): string[] {
  const mark = (sign: '+' | '-', text: string): string[] =>
    block(`${sign} ${text}`, { ...page, textWidth: page.textWidth - indent.length }, 'all').map((line) =>
      page.paint(sign === '+' ? 'green' : 'red', `${indent}${line}`),
    );
  return differences.flatMap(({ path, before, after }) => [
    ...block(safeText(path), page, 'all'),
    ...(before === undefined ? [] : mark('-', valueText(before))),
    ...(after === undefined ? [] : mark('+', valueText(after))),
  ]);
}
