/** Search inside a value: leaves of JSON by name or value, and lines of text. */
import type { JsonPath, JsonValue } from 'quittance/internal/base/json';
import { formatPath, isJsonObject } from 'quittance/internal/base/json';

export type Finding = { readonly place: string; readonly text: string };
export type Findings = { readonly rows: readonly Finding[]; readonly total: number };

/** Rows that are shown; the rest is only counted. */
export const mostFindings = 200;
const longestText = 400;

export function findInValue(value: JsonValue, asked: string): Findings {
  const wanted = asked.toLowerCase();
  const rows: Finding[] = [];
  let total = 0;
  const add = (place: string, text: string): void => {
    total++;
    if (rows.length < mostFindings) rows.push({ place, text: text.slice(0, longestText) });
  };
  if (typeof value === 'string')
    value.split('\n').forEach((line, index) => {
      if (line.toLowerCase().includes(wanted)) add(`line ${index + 1}`, line);
    });
  else walk(value, [], wanted, add);
  return { rows, total };
}

function walk(
  value: JsonValue,
  path: JsonPath,
  wanted: string,
  add: (place: string, text: string) => void,
): void {
  if (Array.isArray(value))
    value.forEach((item: JsonValue, index) => walk(item, [...path, index], wanted, add));
  else if (isJsonObject(value))
    for (const [name, member] of Object.entries(value)) walk(member, [...path, name], wanted, add);
  else {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const name = path.at(-1);
    if (
      text.toLowerCase().includes(wanted) ||
      (typeof name === 'string' && name.toLowerCase().includes(wanted))
    )
      add(formatPath(path), text);
  }
}
