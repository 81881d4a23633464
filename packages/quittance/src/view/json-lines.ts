/**
 * JSON for people, as one data item per line. The renderer can give each name and string its own element, so a string
 * cannot pose as lines of JSON.
 */
import type { JsonValue } from '../base/json.ts';
import { noteNames } from './name-notes.ts';

export type JsonLine = {
  readonly depth: number;
  /** Member name; undefined in lists and on closing lines. */
  readonly name: string | undefined;
  /** Warning about a misleading name. */
  readonly note: string | undefined;
  readonly value:
    | { readonly kind: 'text'; readonly text: string }
    /** A number, true, false or null. */
    | { readonly kind: 'plain'; readonly text: string }
    | { readonly kind: 'bracket'; readonly text: string };
  readonly hasComma: boolean;
};

/** Stored values are less deep. Foreign values may be deeper and must not crash the page. */
const deepest = 1_000;

export function jsonLines(value: JsonValue): readonly JsonLine[] {
  const lines: JsonLine[] = [];
  write(value, { depth: 0, name: undefined, note: undefined, hasComma: false }, lines);
  return lines;
}

function write(value: JsonValue, line: Omit<JsonLine, 'value'>, lines: JsonLine[]): void {
  const bracket = (text: string): JsonLine['value'] => ({ kind: 'bracket', text });
  if (typeof value === 'string') {
    lines.push({ ...line, value: { kind: 'text', text: value } });
    return;
  }
  if (typeof value !== 'object' || value === null) {
    lines.push({ ...line, value: { kind: 'plain', text: JSON.stringify(value) } });
    return;
  }
  const isList = Array.isArray(value);
  const [open, close] = isList ? '[]' : '{}';
  const members: readonly (readonly [string | undefined, JsonValue])[] = isList
    ? value.map((item: JsonValue) => [undefined, item] as const)
    : Object.entries(value);
  if (members.length === 0 || line.depth >= deepest) {
    lines.push({ ...line, value: bracket(`${open}${members.length === 0 ? '' : ' … '}${close}`) });
    return;
  }
  const notes = isList ? undefined : noteNames(Object.keys(value));
  const depth = line.depth + 1;
  lines.push({ ...line, hasComma: false, value: bracket(open ?? '') });
  for (const [index, [name, member]] of members.entries()) {
    const note = name === undefined ? undefined : notes?.get(name);
    write(member, { depth, name, note, hasComma: index < members.length - 1 }, lines);
  }
  lines.push({ ...line, name: undefined, note: undefined, value: bracket(close ?? '') });
}

/** All warnings about names in the value, for outputs that cannot show one next to each name. */
export const nameNotes = (value: JsonValue): readonly string[] =>
  jsonLines(value).flatMap(({ note }) => (note === undefined ? [] : [note]));
