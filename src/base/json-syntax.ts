/**
 * Finds where a text breaks the JSON grammar and describes it in our own words. The platform's messages quote the
 * text, which may contain secrets, and often omit the position. Used only after `JSON.parse` has failed.
 */

/** The position of the first bracket that opens a nesting deeper than `limit`, if there is one. */
export function findNesting(text: string, limit: number): number | undefined {
  if (text.length < 2 * limit) return undefined; // too short to close that many
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === backslash) at++;
      else if (code === quote) inString = false;
    } else if (code === quote) inString = true;
    else if (code === openBracket || code === openBrace) {
      if (++depth > limit) return at;
    } else if (code === closeBracket || code === closeBrace) depth--;
  }
  return undefined;
}

/** Says where `text` stops being JSON and what is expected there. Shows at most one character of it. */
export function findJsonSyntaxError(text: string): string {
  const closers: ('}' | ']')[] = [];
  let state: State = 'value';
  let at = 0;
  for (;;) {
    at = endOf(space, text, at);
    const char = text[at];
    const closer = closers.at(-1);
    if (state === 'end' && char === undefined) return 'not readable as JSON';
    if (char !== undefined && char === closer && state.startsWith('more')) {
      closers.pop();
      state = afterValue(closers);
      at++;
    } else if (state === 'more' && char === ',') {
      state = closer === '}' ? 'key' : 'value';
      at++;
    } else if (state === 'colon' && char === ':') {
      state = 'value';
      at++;
    } else if ((state === 'key' || state === 'moreKeys') && char === '"') {
      const { end, expected } = readString(text, at);
      if (expected !== undefined) return describe(text, end, expected);
      state = 'colon';
      at = end;
    } else if ((state === 'value' || state === 'moreItems') && char === '"') {
      const { end, expected } = readString(text, at);
      if (expected !== undefined) return describe(text, end, expected);
      state = afterValue(closers);
      at = end;
    } else if ((state === 'value' || state === 'moreItems') && (char === '{' || char === '[')) {
      closers.push(char === '{' ? '}' : ']');
      state = char === '{' ? 'moreKeys' : 'moreItems';
      at++;
    } else {
      const end = state === 'value' || state === 'moreItems' ? endOf(literal, text, at) : at;
      if (end === at) return describe(text, at, expectations[state].replace('}', closer ?? '}'));
      state = afterValue(closers);
      at = end;
    }
  }
}

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** What may come next. `more` in a name: the closing bracket is allowed too. */
type State = 'value' | 'key' | 'colon' | 'more' | 'moreKeys' | 'moreItems' | 'end';

const expectations: Readonly<Record<State, string>> = {
  value: 'a value',
  key: 'a key in double quotes',
  colon: '":"',
  more: '"," or "}"',
  moreKeys: 'a key in double quotes or "}"',
  moreItems: 'a value or "]"',
  end: 'the end of the text',
};

const afterValue = (closers: readonly string[]): State => (closers.length === 0 ? 'end' : 'more');

const space = /[ \t\r\n]*/y;
const literal = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)?/y;
const escape = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

/** End of the match of a sticky pattern; `at` itself if there is none. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** End of the string that opens at `at`, or where it breaks and what is expected there. */
function readString(text: string, at: number): { end: number; expected?: string } {
  let end = at + 1;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === quote) return { end: end + 1 };
    if (code < 0x20) return { end, expected: 'an escape such as \\n' };
    if (code !== backslash) continue;
    const after = endOf(escape, text, end);
    if (after === end) return { end, expected: 'a valid JSON escape' };
    end = after - 1;
  }
  return { end, expected: 'a closing double quote' };
}

function describe(text: string, position: number, expected: string): string {
  const before = text.slice(0, position).split('\n');
  const column = (before.at(-1)?.length ?? 0) + 1;
  return (
    `not JSON at position ${position} (line ${before.length}, column ${column}): ` +
    `expected ${expected}, found ${nameCharacter(text.codePointAt(position))}`
  );
}

function nameCharacter(code: number | undefined): string {
  if (code === undefined) return 'the end of the text';
  if (code > 0x20 && code < 0x7f) return `"${String.fromCodePoint(code)}"`;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
