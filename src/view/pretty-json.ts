import type { JsonValue } from '../base/json.ts';
import { escapeJson } from '../base/safe-text.ts';
import { jsonLines } from './json-lines.ts';

/**
 * JSON for people as text. It parses to the same value; what would not be seen, or would make something else be seen,
 * is written as a JSON escape. Deep nesting is not indented for ever: a short text would become a page of hundreds of
 * megabytes.
 */
export const prettyJson = (value: JsonValue): string =>
  jsonLines(value)
    .map(({ depth, name, value: { kind, text }, hasComma }) => {
      const indent = '  '.repeat(Math.min(depth, deepestIndent));
      const before = name === undefined ? '' : `${quote(name)}: `;
      return `${indent}${before}${kind === 'text' ? quote(text) : text}${hasComma ? ',' : ''}`;
    })
    .join('\n');

export const deepestIndent = 24;

/** Half a pair is escaped by `JSON.stringify` itself; the rest that cannot be seen by us. */
const quote = (text: string): string => escapeJson(JSON.stringify(text));
