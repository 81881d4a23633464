/** The words and turns of phrase that `npm run house` flags, and what to write instead. */
import type { Prose } from './prose.ts';
import { sentencesOf, type Sentence } from './sentences.ts';

/** One place in a text that a reader stumbles over. */
export type Hit = {
  readonly line: number;
  /** Name of the rule: the key in `tics`, or `long sentence`. */
  readonly tic: string;
  /** The words found. */
  readonly found: string;
  readonly instead: string;
  readonly sentence: string;
};

type Tic = {
  readonly pattern: RegExp;
  readonly instead: string;
  /** Headings and questions may start with "What is" or "Whose". */
  readonly isForStatements?: true;
};

/** Most words in a sentence, by the kind of text. */
const longest = { comment: 25, string: 25, docs: 30, heading: 30 } as const;

/**
 * Each tic and its replacement. The patterns leave the ordinary uses alone: "look at it", "there is none", "no longer",
 * "tell apart", "beside the file". A rule that flags good English gets switched off, so it does more harm than good.
 */
export const tics: Readonly<Record<string, Tic>> = {
  nobody: {
    pattern: /\bnobody\b/i,
    instead: 'name the actor: "no process", "only the owner", "no approver"',
  },
  somebody: {
    pattern: /\bsomebody\b/i,
    instead: 'name the actor: "a person", "another process", "the caller"',
  },
  whoever: { pattern: /\bwhoever\b/i, instead: 'name the actor: "the owner", "the caller", "the approver"' },
  whose: {
    pattern: /^(?:whose|whether (?:whoever|who|what))\b/i,
    instead: 'start with the subject: "Name of the…", "Does the…?"',
    isForStatements: true,
  },
  what: {
    pattern: /^what(?:ever)? (?:is|was|are|were)\b/i,
    instead: 'start with the noun: "Values that…", "The part that…"',
    isForStatements: true,
  },
  where: {
    pattern:
      /\b(?:only|except|even|also|but|false|true) where\b|^where (?![^,]*\b(?:stands?|lives?|goes|kept|stored|written)\b)(?=[^?]*,)/i,
    instead: '"if" or "when", unless it names a place',
    isForStatements: true,
  },
  beside: {
    pattern: /\bbeside\b(?! (?:the|an?|its|their|your|my|our|this|each|every)\b)/i,
    instead: '"next to", "in addition to", "separately", "background"',
  },
  'is no': {
    pattern:
      /(?<!\bthere )\b(?:is|are|was|were) no (?!longer|more|less|later|earlier|different|matter|good|use\b)/i,
    instead: '"is not a…": "an id that is not a string"',
  },
  'is none': {
    pattern: /(?<!\bthere )\b(?:is|are|was|were) none\b(?! of\b)/i,
    instead: 'repeat the noun: "is not one", "is not a number"',
  },
  'at it': {
    pattern: /(?<!\b(?:look|point|arriv|aim|star|glanc|throw|direct|get)(?:s|ed|e|es|ing|n)?) at it\b/i,
    instead: '"working on it", "running it", "waiting to retry"',
  },
  'in hand': { pattern: /\bin hand\b/i, instead: '"open", "running", "owned by this process"' },
  told: {
    pattern: /\b(?:is|are|was|were|be|been|being|gets?|got) told\b(?! apart)|\btold of\b/i,
    instead: '"receives", "sees", "is notified"',
  },
  behaviour: { pattern: /\bbehaviour(?:s|al)?\b/i, instead: '"behavior" (one spelling in the repository)' },
};

/** A list of names has none of these words, however long it is. */
const isGrammar = /\b(?:the|an?|is|are|was|of|to|and|or|it|with|that)\b/i;

const patterns = Object.entries(tics).map(([tic, { pattern, ...rest }]) => ({
  tic,
  pattern: new RegExp(pattern, `${pattern.flags}g`),
  ...rest,
}));

/** Every tic and every long sentence in a piece of text. */
export function findTics(prose: Prose): Hit[] {
  return sentencesOf(prose).flatMap((sentence) => [
    ...wordsIn(sentence, prose),
    ...lengthOf(sentence, prose),
  ]);
}

function* wordsIn(sentence: Sentence, { kind }: Prose): Generator<Hit> {
  const isStatement = kind !== 'heading' && !sentence.text.endsWith('?');
  for (const { tic, pattern, instead, isForStatements } of patterns) {
    if (isForStatements === true && !isStatement) continue;
    for (const match of sentence.text.matchAll(pattern))
      yield {
        line: sentence.lineAt(match.index),
        tic,
        found: match[0].trim(),
        instead,
        sentence: sentence.text,
      };
  }
}

function* lengthOf(sentence: Sentence, { kind }: Prose): Generator<Hit> {
  const most = longest[kind];
  if (sentence.words <= most || !isGrammar.test(sentence.text)) return;
  yield {
    line: sentence.lineAt(0),
    tic: 'long sentence',
    found: `${sentence.words} words`,
    instead: `split it: at most ${most} words, one idea`,
    sentence: sentence.text,
  };
}
