/**
 * The arguments of a call in short form, for lists and for searches by value: one member per path, without the indexes of
 * lists. `{"lines": [{"sku": "a"}, {"sku": "b"}]}` gives `{"lines.sku": ["a", "b"]}`. It is made from the stored form, so
 * hidden values are masked. Its size is bounded.
 */
import type { JsonObject, JsonPrimitive, JsonValue } from '../base/json.ts';
import { defineMember, isJsonObject } from '../base/json.ts';

const mostPaths = 24;
const mostValues = 8;
const mostChars = 800;
const longestValue = 120;
const longestPath = 80;
const deepest = 6;

export function toShownArguments(input: JsonValue | undefined): JsonObject | undefined {
  if (input === undefined) return undefined;
  if (!isJsonObject(input)) return typeof input === 'string' ? { '': cut(input, longestValue) } : undefined;
  const found = new Map<string, JsonPrimitive[]>();
  let chars = 0;
  const add = (path: string, value: JsonPrimitive): void => {
    const short = typeof value === 'string' ? cut(value, longestValue) : value;
    const known = found.get(path);
    const size = path.length + String(short).length;
    if (chars + size > mostChars || path.length > longestPath) return;
    if (known === undefined) {
      if (found.size >= mostPaths) return;
      found.set(path, [short]);
    } else if (known.length < mostValues) known.push(short);
    else return;
    chars += size;
  };
  walk(input, '', 0, add);
  const shown: { [path: string]: JsonValue } = {};
  for (const [path, values] of found)
    defineMember(shown, path, values.length === 1 ? (values[0] as JsonPrimitive) : values);
  return shown;
}

function walk(
  value: JsonValue,
  path: string,
  depth: number,
  add: (path: string, value: JsonPrimitive) => void,
): void {
  if (depth > deepest) return;
  if (Array.isArray(value)) {
    // A long list would only repeat its paths.
    for (const item of value.slice(0, mostValues) as JsonValue[]) walk(item, path, depth + 1, add);
  } else if (isJsonObject(value)) {
    let count = 0;
    for (const name in value) {
      if (count++ >= mostPaths) break;
      const member = value[name];
      if (Object.hasOwn(value, name) && member !== undefined)
        walk(member, path === '' ? name : `${path}.${name}`, depth + 1, add);
    }
  } else add(path, value as JsonPrimitive);
}

/** Never splits a character. */
const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
