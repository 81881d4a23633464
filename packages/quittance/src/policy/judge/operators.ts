/**
 * The operators of the language, one row each. A value of a type that an operator cannot judge is an error, not
 * false. The rule fires in that case.
 */
import type { JsonValue } from '../../base/json.ts';
import type { BuiltInOperator } from '../language/expression.ts';
import type { LinearRegex } from '../regex/linear-regex.ts';
import type { TextSpan } from '../regex/text-span.ts';

/** True, false, or a policy error, which makes the rule fire. */
export type Truth = boolean | 'error';

/** An operator with its operand. */
export type Test = {
  /** Evaluates a present value. Never throws. */
  readonly holds: (field: JsonValue) => Truth;
  /**
   * Finds the matches in a text. Undefined for operators on the whole value. `inParts`: may it also be asked about
   * each text inside a larger one?
   */
  readonly locate:
    | { readonly find: (text: string) => readonly TextSpan[]; readonly inParts: boolean }
    | undefined;
  /**
   * True if every match in a text is also a match in the JSON of that text, because nothing it looks for is ever
   * escaped. Then only one of them is searched.
   */
  readonly sameInJson?: boolean;
};

export type ReadRegex = (pattern: string) => LinearRegex;

/** The loader has checked the type of the operand. */
export function compileOperator(operator: BuiltInOperator, operand: JsonValue, readRegex: ReadRegex): Test {
  switch (operator) {
    // Operators are only asked about present values.
    case 'exists':
      return whole(() => operand === true);
    case 'equals':
      return whole((field) => field === operand);
    case 'not_equals':
      return whole((field) => field !== operand);
    case 'in': {
      const members = new Set(toList(operand));
      return whole((field) => members.has(field));
    }
    case 'not_in': {
      const members = new Set(toList(operand));
      return whole((field) => !members.has(field));
    }
    case 'contains':
      return containing([toText(operand)]);
    case 'contains_any':
      return containing(toList(operand).map(toText));
    case 'starts_with': {
      const prefix = toText(operand);
      return text(
        (field) => field.startsWith(prefix),
        false,
        (field) => (field.startsWith(prefix) ? [[0, prefix.length]] : []),
      );
    }
    case 'ends_with': {
      const suffix = toText(operand);
      return text(
        (field) => field.endsWith(suffix),
        false,
        (field) => (field.endsWith(suffix) ? [[field.length - suffix.length, field.length]] : []),
      );
    }
    case 'matches':
      return matching([readRegex(toText(operand))]);
    case 'matches_any':
      return matching(toList(operand).map((pattern) => readRegex(toText(pattern))));
    case 'gt':
      return number(operand, (field, bound) => field > bound);
    case 'gte':
      return number(operand, (field, bound) => field >= bound);
    case 'lt':
      return number(operand, (field, bound) => field < bound);
    case 'lte':
      return number(operand, (field, bound) => field <= bound);
  }
}

const toList = (operand: JsonValue): readonly JsonValue[] =>
  // `isArray` does not narrow a union with a read-only list.
  Array.isArray(operand) ? (operand as readonly JsonValue[]) : [operand];

/** The loader accepts only text for a text operand; for programmatic rules any other value is compared as JSON. */
const toText = (operand: JsonValue): string =>
  typeof operand === 'string' ? operand : JSON.stringify(operand);

const whole = (holds: (field: JsonValue) => boolean): Test => ({ holds, locate: undefined });

function number(operand: JsonValue, compare: (field: number, bound: number) => boolean): Test {
  const bound = Number(operand);
  return {
    holds: (field) => (typeof field === 'number' ? compare(field, bound) : 'error'),
    locate: undefined,
  };
}

const text = (
  holds: (field: string) => Truth,
  inParts: boolean,
  find: (field: string) => readonly TextSpan[],
): Test => ({
  holds: (field) => (typeof field === 'string' ? holds(field) : 'error'),
  locate: { inParts, find },
});

const containing = (words: readonly string[]): Test => ({
  ...text(
    (field) => words.some((word) => field.includes(word)),
    true,
    (field) => words.flatMap((word) => findWord(field, word)),
  ),
  sameInJson: words.every((word) => JSON.stringify(word) === `"${word}"`),
});

function findWord(field: string, word: string): readonly TextSpan[] {
  const spans: TextSpan[] = [];
  if (word === '') return spans;
  for (let at = field.indexOf(word); at >= 0; at = field.indexOf(word, at + word.length))
    spans.push([at, at + word.length]);
  return spans;
}

const matching = (regexes: readonly LinearRegex[]): Test =>
  text(
    (field) => regexes.some((regex) => regex.test(field)),
    true,
    (field) => regexes.flatMap((regex) => regex.findAll(field)),
  );
