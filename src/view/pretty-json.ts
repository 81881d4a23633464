import type { JsonValue } from '../base/json.ts';
import { safeText } from '../base/safe-text.ts';

/**
 * JSON for people, line by line. Every value is what it was; what would not be seen, or would make something else be
 * seen, is escaped. Deep nesting is not indented for ever: a short text would become a page of hundreds of megabytes.
 */
export function prettyJson(value: JsonValue): string {
  const lines: string[] = [];
  write(value, '', '', 0, lines);
  return lines.join('\n');
}

const deepestIndent = 24;
/** Everything we keep is less deep. What is not ours may be deeper, and a page must not die of it. */
const deepest = 1_000;

function write(value: JsonValue, before: string, after: string, depth: number, lines: string[]): void {
  const indent = '  '.repeat(Math.min(depth, deepestIndent));
  if (typeof value !== 'object' || value === null) {
    lines.push(`${indent}${before}${primitive(value)}${after}`);
    return;
  }
  const isList = Array.isArray(value);
  const [open, close] = isList ? '[]' : '{}';
  const members: readonly [string, JsonValue][] = isList
    ? value.map((item: JsonValue) => ['', item])
    : Object.entries(value).map(([key, member]) => [`${primitive(key)}: `, member]);
  if (members.length === 0 || depth >= deepest) {
    lines.push(`${indent}${before}${open}${members.length === 0 ? '' : ' … '}${close}${after}`);
    return;
  }
  lines.push(`${indent}${before}${open}`);
  for (const [index, [key, member]] of members.entries())
    write(member, key, index === members.length - 1 ? '' : ',', depth + 1, lines);
  lines.push(`${indent}${close}${after}`);
}

/** Half a pair is escaped by `JSON.stringify` itself; the rest that cannot be seen by us. */
const primitive = (value: string | number | boolean | null): string => safeText(JSON.stringify(value));
