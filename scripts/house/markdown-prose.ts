import { withoutCode, type Prose } from './prose.ts';

/** Paragraphs, list items, headings and table cells of a Markdown page; no code blocks, comments or front matter. */
export function markdownProse(source: string): Prose[] {
  const found: Prose[] = [];
  let paragraph: string[] = [];
  let start = 0;
  const end = (): void => {
    if (paragraph.length > 0)
      found.push({ kind: 'docs', text: plain(paragraph.join('\n')), line: start + 1 });
    paragraph = [];
  };
  withoutBlocks(source)
    .split('\n')
    .forEach((text, index) => {
      const heading = /^#{1,6} +(.*)$/.exec(text);
      if (heading !== null || text.trim() === '' || isRow(text)) end();
      if (heading !== null) found.push({ kind: 'heading', text: plain(heading[1] ?? ''), line: index + 1 });
      else if (isRow(text))
        for (const cell of text.split(/(?<!\\)\|/))
          found.push({ kind: 'docs', text: plain(cell), line: index + 1 });
      else if (text.trim() !== '') {
        if (paragraph.length === 0) start = index;
        paragraph.push(text);
      }
    });
  end();
  return found.filter(({ text }) => text.trim() !== '');
}

const isRow = (line: string): boolean => /^\s*\|/.test(line);

/** Blanks code blocks, comments and front matter; keeps their newlines. */
function withoutBlocks(source: string): string {
  const blank = (found: string): string => found.replaceAll(/[^\n]/g, '');
  return source
    .replace(/^---\n[^]*?\n---\n/, blank)
    .replaceAll(/^([ \t]*)(```+|~~~+)[^]*?^\1?[ \t]*\2[ \t]*$/gm, blank)
    .replaceAll(/<!--[^]*?-->/g, blank);
}

function plain(text: string): string {
  return withoutCode(text)
    .replaceAll(/!?\[([^\]]*)\]\([^)\s]*(?: "[^"]*")?\)/g, (link, label: string) => label.padEnd(link.length))
    .replaceAll(/\*\*|__|<\/?[a-z][^>]*>/g, (mark) => ' '.repeat(mark.length))
    .replaceAll(/(?<![\w*])[*_](?=\S)|(?<=\S)[*_](?![\w*])/g, ' ');
}
