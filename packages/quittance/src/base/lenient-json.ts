/**
 * Reads text that is JSON except for typical slips of models, if exactly one reading exists. The slips are
 * a byte order mark, a code fence around it, and a trailing comma. Optionally also Python syntax: single quotes, True, False, None. Everything
 * else is rejected, including a duplicate key.
 */
import { findDuplicateKey } from './duplicate-key.ts';
import { parseJson } from './json.ts';
import type { JsonReading } from './json.ts';

export function readLenientJson(text: string, spelling: 'json' | 'python'): JsonReading {
  const bare = withoutFence(text.replace(/^\uFEFF/, '').trim());
  if (bare === undefined) return refused('more than one code block');
  const strict = parseJson(bare);
  if (strict.ok) return unlessDuplicate(bare, strict);
  const mended = mend(bare, spelling);
  if (mended === undefined) return strict;
  const reading = parseJson(mended);
  return reading.ok ? unlessDuplicate(mended, reading) : strict;
}

const refused = (problem: string): JsonReading => ({ ok: false, path: [], problem });

function unlessDuplicate(text: string, reading: JsonReading): JsonReading {
  const key = findDuplicateKey(text);
  return key === undefined ? reading : refused(`the key ${JSON.stringify(key)} occurs twice`);
}

/** Undefined if there is more than one block. */
function withoutFence(text: string): string | undefined {
  if (!text.startsWith('```')) return text;
  const inner = /^```[\w-]*\s([^]*?)\s*```$/.exec(text)?.[1];
  return inner === undefined || inner.includes('```') ? undefined : inner.trim();
}

const pythonWords: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' };

/** The text as strict JSON. Undefined if it cannot be read. */
function mend(text: string, spelling: 'json' | 'python'): string | undefined {
  const pieces: string[] = [];
  let last = '';
  for (let at = 0; at < text.length;) {
    const char = text[at] ?? '';
    if (char === '"' || (char === "'" && spelling === 'python')) {
      const end = endOfString(text, at, char);
      const string = end === undefined ? undefined : toJsonString(text.slice(at + 1, end), char);
      if (end === undefined || string === undefined) return undefined;
      pieces.push(string);
      last = 'value';
      at = end + 1;
      continue;
    }
    const word =
      spelling === 'python' ? /^(?:True|False|None)\b/.exec(text.slice(at, at + 6))?.[0] : undefined;
    if (word !== undefined) {
      pieces.push(pythonWords[word] ?? '');
      last = 'value';
      at += word.length;
      continue;
    }
    if (char === ',' && isTrailing(text, at) && last === 'value') {
      at++;
      continue;
    }
    pieces.push(char);
    if (!/\s/.test(char)) last = /[[{,:]/.test(char) ? char : 'value';
    at++;
  }
  return pieces.join('');
}

function isTrailing(text: string, comma: number): boolean {
  let at = comma + 1;
  while (/\s/.test(text[at] ?? '')) at++;
  return text[at] === ']' || text[at] === '}';
}

function endOfString(text: string, start: number, quote: string): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === quote) return at;
  }
  return undefined;
}

/** Undefined for an escape that JSON does not have. */
function toJsonString(inner: string, quote: string): string | undefined {
  if (quote === '"') return `"${inner}"`;
  let string = '';
  for (let at = 0; at < inner.length; at++) {
    const char = inner[at] ?? '';
    if (char !== '\\') string += char === '"' ? '\\"' : char;
    else {
      const escaped = inner[++at] ?? '';
      if (!/["'\\/bfnrtu]/.test(escaped)) return undefined;
      string += escaped === "'" ? "'" : `\\${escaped}`;
    }
  }
  return `"${string}"`;
}
