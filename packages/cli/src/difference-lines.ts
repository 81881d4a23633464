import type { InputDifference } from './input-difference.ts';
import type { PageLayout } from './page-layout.ts';
import { block, indent } from './page-layout.ts';
import { valueText } from './preview-lines.ts';
import { terminalText } from './terminal-text.ts';

/** Old and new values, field by field, never cut. */
export function differenceLines(differences: readonly InputDifference[], page: PageLayout): string[] {
  const mark = (sign: '+' | '-', text: string): string[] =>
    block(`${sign} ${text}`, { ...page, textWidth: page.textWidth - indent.length }, 'all').map((line) =>
      page.paint(sign === '+' ? 'green' : 'red', `${indent}${line}`),
    );
  return differences.flatMap(({ path, before, after }) => [
    ...block(terminalText(path), page, 'all'),
    ...(before === undefined ? [] : mark('-', valueText(before))),
    ...(after === undefined ? [] : mark('+', valueText(after))),
  ]);
}
