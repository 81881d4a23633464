import type { JsonObject, JsonValue } from '../../base/json.ts';

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
  const textOf = (): string => (text ??= typeof value === 'string' ? value : toJsonText(value));
  // Where no backslash is written, nothing is escaped.
  const plainOf = (): string => (typeof value === 'string' ? value : plainJsonText(value));
  return {
    result: end.type === 'result' ? end.value : undefined,
    text: textOf,
    plainText: () => (plain ??= textOf().includes('\\') ? plainOf() : textOf()),
  };
}

export const toJsonText = (value: JsonValue): string => JSON.stringify(value);

/** The JSON of a value with its strings written as they are. */
export function plainJsonText(value: JsonValue): string {
  if (typeof value === 'string') return `"${value}"`;
  if (typeof value !== 'object' || value === null) return String(value);
  let text = '';
  if (Array.isArray(value)) {
    // `isArray` does not narrow a union with a read-only list.
    for (const item of value as readonly JsonValue[])
      text += `${text === '' ? '' : ','}${plainJsonText(item)}`;
    return `[${text}]`;
  }
  for (const [key, member] of Object.entries(value as JsonObject))
    text += `${text === '' ? '' : ','}"${key}":${plainJsonText(member)}`;
  return `{${text}}`;
}
