import type { JsonObject, JsonValue } from '../../base/json.ts';

/** The end of a call: the tool's result, or the text of its error. */
export type ToolEnd =
  | { readonly type: 'result'; readonly value: JsonValue }
  | { readonly type: 'error'; readonly text: string };

/** The view of a result for post rules. Texts are made when a rule first asks for one. */
export type OutputView = {
  /** Undefined if the tool failed: then there is only the text of its error. */
  readonly result: JsonValue | undefined;
  /** A string result as it is, any other as JSON. */
  readonly text: () => string;
  /**
   * The text without the escapes of JSON. It makes a secret with a quote or a line break findable at any depth. It is
   * the same string as `text` if nothing is escaped.
   */
  readonly plainText: () => string;
};

export function viewOutput(end: ToolEnd): OutputView {
  const value = end.type === 'result' ? end.value : end.text;
  let text: string | undefined;
  let plain: string | undefined;
  const textOf = (): string => (text ??= typeof value === 'string' ? value : toJsonText(value));
  // Without a backslash nothing is escaped.
  const plainOf = (): string => (typeof value === 'string' ? value : plainJsonText(value));
  return {
    result: end.type === 'result' ? end.value : undefined,
    text: textOf,
    plainText: () => (plain ??= textOf().includes('\\') ? plainOf() : textOf()),
  };
}

export const toJsonText = (value: JsonValue): string => JSON.stringify(value);

/** The JSON of a value with its strings unescaped. */
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
