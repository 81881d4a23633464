import type { JsonValue } from '../base/json.ts';
import { escapeJson } from '../base/safe-text.ts';
import { jsonLines } from './json-lines.ts';

/**
 * JSON text for people. It parses to the same value. Invisible or misleading characters become JSON escapes.
 * Indentation has a limit, because a deeply nested short text would otherwise grow to hundreds of megabytes.
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

/** `JSON.stringify` escapes lone surrogates; `escapeJson` escapes the other invisible characters. */
const quote = (text: string): string => escapeJson(JSON.stringify(text));

/** The text for a field that a person edits. Longer runs of spaces are escaped: they would push the rest out of view. */
export const editableJson = (value: JsonValue): string =>
  typeof value === 'string'
    ? JSON.stringify(value)
    : prettyJson(value).replaceAll(/(?<=\S) {8,}/g, (run) => '\\u0020'.repeat(run.length));
