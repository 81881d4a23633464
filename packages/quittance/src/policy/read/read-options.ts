/** The words that a host may add to the language, and the settings for reading documents with them. */
import { QuittanceError } from '../../base/error.ts';
import { quote } from '../../base/nearest.ts';
import type { RegexReading } from '../regex/linear-regex.ts';
import { parseRegex } from '../regex/linear-regex.ts';
import { isBuiltInOperator } from '../language/operand.ts';
import { builtInPrefixes } from './parse-selector.ts';

export type ReadOptions = {
  /** Operators that the host registered. */
  readonly operators?: readonly string[];
  /** First words of selectors that the host registered. */
  readonly selectors?: readonly string[];
  /**
   * The document is from a ledger. Ledgers of earlier versions recorded documents that say `edictum/v1` and use our
   * additions.
   */
  readonly recorded?: boolean;
};

/** The options with all defaults filled in. */
export type ReadSettings = {
  readonly operators: ReadonlySet<string>;
  readonly selectors: ReadonlySet<string>;
  readonly parseRegex: (pattern: string) => RegexReading;
  readonly recorded: boolean;
};

const reservedWords: readonly string[] = ['all', 'any', 'not', 'on_missing'];

/** Throws `config.invalid` if a host's word belongs to the language or cannot be written in a document. */
export function createReadSettings(options: ReadOptions = {}): ReadSettings {
  const operators = new Set(options.operators);
  const selectors = new Set(options.selectors);
  for (const word of operators) {
    checkWord('operator', word);
    if (isBuiltInOperator(word)) refuse(`The operator ${quote(word)} belongs to the language`);
  }
  for (const word of selectors) {
    checkWord('selector', word);
    if (builtInPrefixes.includes(word))
      refuse(`Selectors that begin with ${quote(word)} belong to the language`);
  }
  return { operators, selectors, parseRegex: rememberRegexes(), recorded: options.recorded === true };
}

function checkWord(what: string, word: unknown): void {
  if (typeof word !== 'string' || !/^[A-Za-z_]\w{0,63}$/.test(word))
    refuse(
      `${JSON.stringify(word) ?? typeof word} cannot be the name of ${what === 'operator' ? 'an' : 'a'} ${what}`,
    );
  else if (reservedWords.includes(word)) refuse(`The word ${quote(word)} belongs to the language`);
}

function refuse(problem: string): never {
  throw new QuittanceError('config.invalid', `${problem}. Expected another word of letters, digits and "_".`);
}

/** Rules often repeat patterns, and parsing them is the largest cost after the text itself. */
function rememberRegexes(): (pattern: string) => RegexReading {
  const known = new Map<string, RegexReading>();
  return (pattern) => {
    const reading = known.get(pattern) ?? parseRegex(pattern);
    known.set(pattern, reading);
    return reading;
  };
}
