/** Reads JSON inside a text of a payload. The payload is limited in depth, but its texts are not. */
import { deepest } from './json-copy.ts';
import { findNesting } from './json-syntax.ts';
import { readJsonText } from './json-text.ts';
import type { JsonValue } from './json-value.ts';

/** Undefined if the text is not JSON. `too deep`: code that walks the value could overflow the stack. */
export function readInnerJson(text: string): { readonly json: JsonValue } | 'too deep' | undefined {
  if (findNesting(text, deepest) !== undefined) return isJson(text) ? 'too deep' : undefined;
  try {
    return { json: readJsonText(text) };
  } catch {
    return undefined;
  }
}

/** `JSON.parse` itself does not recurse. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
