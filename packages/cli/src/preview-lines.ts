import type { JsonValue } from 'quittance/internal/base/json';
import type { Preview } from 'quittance/internal/call/event';
import type { Amount, PageLayout } from './page-layout.ts';
import { block, labelled } from './page-layout.ts';
import { exactTerminalText } from './terminal-text.ts';
import type { Style } from './terminal.ts';

/** The preview of a tool, in lines. */
export function previewLines(preview: Preview, page: PageLayout, amount: Amount): string[] {
  switch (preview.kind) {
    case 'text':
      return block(preview.text, page, amount);
    case 'diff':
      return [...labelled('file', preview.path, page), ...diffLines(preview.diff, page, amount)];
    case 'fields':
      return preview.fields.flatMap(({ name, before, after }) =>
        block(`${exactTerminalText(name)}: ${valueText(before)} → ${valueText(after)}`, page, amount),
      );
    case 'command':
      return [
        ...block(preview.command, page, amount),
        ...(preview.directory === undefined ? [] : labelled('in', preview.directory, page)),
      ];
  }
}

/** Empty for an absent value. */
export const valueText = (value: JsonValue | undefined): string =>
  value === undefined ? '(nothing)' : JSON.stringify(value);

const diffStyles: Readonly<Record<string, Style>> = { '+': 'green', '-': 'red', '@': 'cyan' };

/**
 * Removed lines are red, added lines green. The color applies to whole lines, so text inside a line cannot imitate
 * another line.
 */
function diffLines(diff: string, page: PageLayout, amount: Amount): string[] {
  const lines = diff.split(/\r?\n/);
  const shown = amount === 'all' ? lines : lines.slice(0, mostLines);
  const cut = lines.length - shown.length;
  return [
    ...shown.flatMap((line) => {
      const style = diffStyles[line.slice(0, 1)];
      const drawn = block(line, page, amount);
      return style === undefined ? drawn : drawn.map((each) => page.paint(style, each));
    }),
    ...(cut === 0 ? [] : [page.paint('dim', `  … cut: ${cut} more lines; see --json`)]),
  ];
}

const mostLines = 60;
