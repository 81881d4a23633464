/** Cuts a piece of text into sentences and counts their words. */
import { codeMark, type Prose } from './prose.ts';

export type Sentence = {
  /** On one line, with a mark in place of code. */
  readonly text: string;
  readonly words: number;
  /** The line in the file of the character at this index of `text`. */
  lineAt(index: number): number;
};

/** End mark, closing quotes or brackets, space, and then a capital, a number, code or a file path. */
const boundary = /[.!?…]["'”’)\]]*\s+(?=["'“‘([]*(?:[\p{Lu}\d§]|[\w-]+[/.]\w))/gu;
const abbreviation = /\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|No)\.["')\]]*\s+$/;
/** "`a`, `b` and `c`" reads as one thing. */
const listOfCode = new RegExp(`${codeMark}(?:(?:,| and| or|, and|, or) ${codeMark})+`, 'gu');
const word = /[\p{L}\p{N}§][\p{L}\p{N}§'’_./-]*/gu;

export function sentencesOf({ text, line }: Prose): Sentence[] {
  return blocksOf(text).flatMap(({ start, end }) =>
    cut(text.slice(start, end)).flatMap(([from, to]) => {
      const raw = text.slice(start + from, start + to);
      const trimmed = raw.trimStart();
      const offset = start + from + raw.length - trimmed.length;
      // Newlines become spaces one for one, so an index into the sentence is an index into the text.
      const sentence = trimmed.trimEnd().replaceAll(/\s/g, ' ');
      if (sentence === '') return [];
      return [
        {
          text: sentence,
          words: sentence.replaceAll(/ +/g, ' ').replaceAll(listOfCode, codeMark).match(word)?.length ?? 0,
          lineAt: (index: number) => line + newlines(text.slice(0, offset + index)),
        },
      ];
    }),
  );
}

type Range = { readonly start: number; readonly end: number };

/** Paragraphs and list items: a sentence never goes from one to the next. */
function blocksOf(text: string): Range[] {
  const breaks = /\u2029|\n[ \t]*(?:\n|(?=(?:[-*+]|\d+[.)]|@\w+)[ \t]))/g;
  const blocks: Range[] = [];
  let start = 0;
  for (const match of text.matchAll(breaks)) {
    blocks.push({ start, end: match.index });
    start = match.index + match[0].length;
  }
  return [...blocks, { start, end: text.length }];
}

function cut(block: string): [number, number][] {
  const cuts: [number, number][] = [];
  let start = 0;
  for (const match of block.matchAll(boundary)) {
    const end = match.index + match[0].length;
    if (abbreviation.test(block.slice(start, end))) continue;
    cuts.push([start, end]);
    start = end;
  }
  return [...cuts, [start, block.length]];
}

const newlines = (text: string): number => text.split('\n').length - 1;
