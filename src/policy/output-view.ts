import type { JsonValue } from '../base/json.ts';

/** What came of a call: the tool's result, or the text of its error. */
export type ToolEnd =
  { readonly type: 'result'; readonly value: JsonValue } | { readonly type: 'error'; readonly text: string };

/** What post rules look at. Texts are made when a rule first asks for one. */
export type OutputView = {
  /** Undefined where the tool failed: then there is only its text. */
  readonly result: JsonValue | undefined;
  /** A result that is a string as it is, any other as JSON. */
  readonly text: () => string;
  /**
   * The same with the escapes of JSON undone, so that a secret with a quote or a line break in it is found however
   * deep it lies. The very same string where nothing is escaped.
   */
  readonly plainText: () => string;
};

export function viewOutput(end: ToolEnd): OutputView {
  const value = end.type === 'result' ? end.value : end.text;
  let text: string | undefined;
  let plain: string | undefined;
  const textOf = (): string => (text ??= typeof value === 'string' ? value : jsonText(value));
  return {
    result: end.type === 'result' ? end.value : undefined,
    text: textOf,
    plainText: () => (plain ??= typeof value === 'string' ? value : unescapeJson(textOf())),
  };
}

export const jsonText = (value: JsonValue): string => JSON.stringify(value);
export const plainJsonText = (value: JsonValue): string => unescapeJson(JSON.stringify(value));

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['\\n', '\n'],
  ['\\"', '"'],
  ['\\\\', '\\'],
  ['\\t', '\t'],
  ['\\r', '\r'],
  ['\\b', '\b'],
  ['\\f', '\f'],
]);

/** In what `JSON.stringify` writes, a backslash stands nowhere but before what it escapes. */
const unescapeJson = (json: string): string =>
  json.includes('\\')
    ? json.replaceAll(
        /\\(?:u[\da-f]{4}|.)/g,
        (escape) => shortEscapes.get(escape) ?? String.fromCharCode(Number.parseInt(escape.slice(2), 16)),
      )
    : json;
