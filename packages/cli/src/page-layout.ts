/** Building blocks of pages: titled sections, labelled facts, sentences, and untrusted text. */
import type { JsonValue } from 'quittance/internal/base/json';
import { prettyJson } from 'quittance/internal/view/pretty-json';
import { terminalLines, terminalText } from './terminal-text.ts';
import type { Terminal } from './terminal.ts';
import { fit, textWidth, wrap } from './text-width.ts';

export type PageLayout = Pick<Terminal, 'paint' | 'textWidth'>;

export const indent = '  ';

/** How much of a text to show. An approver must see all of it. */
export type Amount = 'start' | 'all';
const mostLines = 60;
const mostCharacters = 40_000;

export const section = (title: string, lines: readonly string[], { paint }: PageLayout): string[] =>
  lines.length === 0 ? [] : ['', paint('bold', title), ...lines.map((line) => `${indent}${line}`.trimEnd())];

const labelWidth = 13;

export function labelled(name: string, value: string, page: PageLayout): string[] {
  const text = terminalText(value);
  const room = page.textWidth - labelWidth - indent.length;
  const label = `${indent}${page.paint('dim', fit(name, labelWidth))}`;
  // A digest is meant for copying: it gets its own line rather than a line break.
  if (!text.includes(' ') && textWidth(text) > room && textWidth(text) <= page.textWidth - indent.length)
    return [label, `${indent}${text}`];
  const [first = '', ...rest] = wrap(text, room);
  return [`${label}${first}`, ...rest.map((line) => `${indent}${' '.repeat(labelWidth)}${line}`)];
}

export const paragraph = (text: string, page: PageLayout): string[] =>
  wrap(terminalText(text), page.textWidth);

/**
 * Runs of spaces in texts are written as a count, `\\u0020×24`, because they could push text onto a separate line. A
 * backslash of the text itself is doubled, so that no text can imitate that form.
 */
export const json = (value: JsonValue, page: PageLayout, amount?: Amount): string[] =>
  block(
    prettyJson(value).replaceAll(/(?<=\S) {4,}/g, (run) => `\\u0020×${run.length}`),
    page,
    amount,
  );

/** Marks a continued line, so that wrapped text cannot imitate separate lines. */
const continued = '↪ ';

/** A paragraph with values of a model or a server in it. */
export const question = (text: string, page: PageLayout): string[] =>
  wrap(terminalText(text), page.textWidth - continued.length).map((line, index) =>
    index === 0 ? line : `${continued}${line}`,
  );

/** Untrusted text in lines. A very long text is cut with a note, unless all of it is wanted. */
export function block(text: string, page: PageLayout, amount: Amount = 'start'): string[] {
  const width = page.textWidth - indent.length;
  const shown = amount === 'all' ? text : text.slice(0, mostCharacters);
  const lines = terminalLines(shown).flatMap((line) => {
    const lead = /^ */.exec(line)?.[0] ?? '';
    const [first = '', ...rest] =
      textWidth(line) <= width ? [line] : wrap(line.slice(lead.length), width - lead.length - 2);
    return textWidth(line) <= width
      ? [line]
      : [`${lead}${first}`, ...rest.map((each) => `${lead}${continued}${each}`)];
  });
  const cut = amount !== 'all' && (lines.length > mostLines || text.length > mostCharacters);
  return [
    ...(cut ? lines.slice(0, mostLines) : lines).map((line) => `${indent}${line}`),
    ...(cut ? [page.paint('dim', `${indent}… cut: ${text.length} characters in total; see --json`)] : []),
  ];
}
