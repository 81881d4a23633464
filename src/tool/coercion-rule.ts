import type { JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import { readLenientJson } from '../base/lenient-json.ts';

/** The name of a rule, as recorded with a call. */
export type CoercionRule =
  | 'numeric_string'
  | 'boolean_string'
  | 'json_string'
  | 'single_to_array'
  | 'null_dropped';

/** The replacement that a rule proposes: another value, or nothing. */
export type CoercionProposal =
  | { readonly type: 'replace'; readonly value: JsonValue }
  | { readonly type: 'drop' };

export type CoercionRuleRow = {
  readonly name: CoercionRule;
  /** Describes the rule for people. */
  readonly sentence: string;
  /** The rule's proposal for a value; undefined if it does not apply. */
  readonly propose: (value: JsonValue) => CoercionProposal | undefined;
};

/**
 * All changes that may be made to arguments that do not match their schema, in the order of trials. The input already
 * contains every resulting value: nothing is guessed, and nothing is ever converted to text.
 */
export const coercionRules: readonly CoercionRuleRow[] = Object.freeze([
  Object.freeze({
    name: 'numeric_string',
    sentence: 'A string that is a JSON number becomes that number, if no digit is lost.',
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
      'A string that is a JSON object or array becomes that object or array. A code fence, a trailing ' +
      'comma and Python syntax are accepted.',
    propose: (value) => (typeof value === 'string' ? replaceBy(readContainer(value)) : undefined),
  }),
  Object.freeze({
    name: 'single_to_array',
    sentence:
      'If an array is required, a number, a boolean or a plain text becomes an array with that one ' +
      'value. A text that may itself be a list does not.',
    propose: (value) =>
      typeof value === 'object' || (typeof value === 'string' && mayBeList(value))
        ? undefined
        : replaceBy([value]),
  }),
  Object.freeze({
    name: 'null_dropped',
    sentence: 'A null in an optional field is omitted.',
    propose: (value) => (value === null ? { type: 'drop' } : undefined),
  }),
] satisfies readonly CoercionRuleRow[]);

const replaceBy = (value: JsonValue | undefined): CoercionProposal | undefined =>
  value === undefined ? undefined : { type: 'replace', value };

/** A text that may contain several values, or none, is not one value: empty, quoted, JSON or a list in words. */
const mayBeList = (text: string): boolean => text.trim() === '' || /^\s*["'`[{(]|[,;\n\r]/.test(text);

/** A number exactly as written: by the grammar of JSON, without rounding. */
function readNumber(text: string): number | undefined {
  const written = decimalOf(text);
  if (written === undefined) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return undefined;
  return decimalOf(String(value)) === written ? value : undefined;
}

/**
 * One spelling for every way to write a decimal number: `1.50` and `15e-1` are `15e-1`. Undefined if it is not one.
 */
function decimalOf(text: string): string | undefined {
  const parts = /^(-?)(0|[1-9]\d{0,400})(?:\.(\d{1,400}))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text);
  if (parts === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  return significant === '' ? `${sign}0` : `${sign}${significant}e${power}`;
}

/** The object or array in a JSON text; a scalar in quotes stays as it is. */
function readContainer(text: string): JsonValue | undefined {
  if (!/^(?:\uFEFF|\s)*(?:```|[{[])/.test(text)) return undefined;
  const reading = readLenientJson(text, 'python');
  return reading.ok && (isJsonObject(reading.value) || Array.isArray(reading.value))
    ? reading.value
    : undefined;
}
