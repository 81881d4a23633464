import type { JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import { readLenientJson } from '../base/lenient-json.ts';

/** The name of a rule, as it stands on the record of a call. */
export type CoercionRule =
  'numeric_string' | 'boolean_string' | 'json_string' | 'single_to_array' | 'null_dropped';

/** What a rule would put in a value's place: another value, or nothing. */
export type CoercionProposal =
  { readonly type: 'replace'; readonly value: JsonValue } | { readonly type: 'drop' };

export type CoercionRuleRow = {
  readonly name: CoercionRule;
  /** What it does, in words for people. */
  readonly sentence: string;
  /** What the rule makes of a value; undefined where it does not apply. */
  readonly propose: (value: JsonValue) => CoercionProposal | undefined;
};

/**
 * Everything that may be changed about arguments that do not fit their schema, in the order it is tried. A value
 * comes out only if it was in what was sent: nothing is guessed, and nothing is ever made into text.
 */
export const coercionRules: readonly CoercionRuleRow[] = Object.freeze([
  Object.freeze({
    name: 'numeric_string',
    sentence: 'A string that is a JSON number becomes that number, if not a digit is lost.',
    propose: (value) => (typeof value === 'string' ? replaceBy(readNumber(value)) : undefined),
  }),
  Object.freeze({
    name: 'boolean_string',
    sentence: 'The strings true and false, in any case, become the boolean.',
    propose: (value) =>
      typeof value === 'string' && /^(?:true|false)$/i.test(value)
        ? replaceBy(value.toLowerCase() === 'true')
        : undefined,
  }),
  Object.freeze({
    name: 'json_string',
    sentence:
      'A string that is a JSON object or array becomes that object or array; a code fence, a last comma and what Python prints are understood.',
    propose: (value) => (typeof value === 'string' ? replaceBy(readContainer(value)) : undefined),
  }),
  Object.freeze({
    name: 'single_to_array',
    sentence:
      'A number, a boolean or a plain text where an array is wanted becomes an array of that one value; a text that may be a list itself does not.',
    propose: (value) =>
      typeof value === 'object' || (typeof value === 'string' && mayBeList(value))
        ? undefined
        : replaceBy([value]),
  }),
  Object.freeze({
    name: 'null_dropped',
    sentence: 'A null on an optional field is left out.',
    propose: (value) => (value === null ? { type: 'drop' } : undefined),
  }),
] satisfies readonly CoercionRuleRow[]);

const replaceBy = (value: JsonValue | undefined): CoercionProposal | undefined =>
  value === undefined ? undefined : { type: 'replace', value };

/** A text that may hold several values, or none, is not one value: empty, quoted, JSON or a list in words. */
const mayBeList = (text: string): boolean => text.trim() === '' || /^\s*["'`[{(]|[,;\n\r]/.test(text);

/** A number exactly as it is written: by the grammar of JSON, without an integer or a fraction being rounded. */
function readNumber(text: string): number | undefined {
  const written = decimalOf(text);
  if (written === undefined) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return undefined;
  return decimalOf(String(value)) === written ? value : undefined;
}

/** One spelling for every way to write a decimal number, or undefined if it is none: `1.50` and `15e-1` are `15e-1`. */
function decimalOf(text: string): string | undefined {
  const parts = /^(-?)(0|[1-9]\d{0,400})(?:\.(\d{1,400}))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text);
  if (parts === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  return significant === '' ? `${sign}0` : `${sign}${significant}e${power}`;
}

/** The object or array a text is the JSON of; a scalar in quotes stays what it is. */
function readContainer(text: string): JsonValue | undefined {
  if (!/^(?:\uFEFF|\s)*(?:```|[{[])/.test(text)) return undefined;
  const reading = readLenientJson(text, 'python');
  return reading.ok && (isJsonObject(reading.value) || Array.isArray(reading.value))
    ? reading.value
    : undefined;
}
