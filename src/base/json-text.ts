/**
 * Reads JSON text exactly as written. Some engines do not. V8 may give a key with an escape the name of another
 * key it has seen before. This is nodejs/node#63785, in Node 22 to 26 at least. The stored data would differ from the text, so
 * text with such keys is parsed by this code.
 */
import type { JsonValue } from './json-value.ts';
import { defineMember } from './json-value.ts';

/** Called for every number with its source text and its path. */
export type OnNumber = (value: number, source: string, path: readonly (string | number)[]) => void;

/** The value of the text. Throws a SyntaxError if it is not JSON; recurses as deep as the text does. */
export function readJsonText(text: string): JsonValue {
  return text.includes('\\') && hasEscapedKey(text) ? readTokens(text) : (JSON.parse(text) as JsonValue);
}

/** The same, with a callback for every number. */
export const readTokens = (text: string, onNumber?: OnNumber): JsonValue => new Reader(text, onNumber).read();

/** Is a string with an escape followed by a colon? One pass: the text may be long and hostile. */
function hasEscapedKey(text: string): boolean {
  let inString = false;
  let escaped = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (!inString) {
      if (char === '"') inString = true;
      else if (char === ':' && escaped) return true;
      else if (char === ',' || char === '}' || char === ']') escaped = false;
      if (inString) escaped = false;
    } else if (char === '\\') {
      escaped = true;
      at++;
    } else if (char === '"') inString = false;
  }
  return false;
}

const space = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const words: readonly (readonly [string, JsonValue])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

class Reader {
  readonly #text: string;
  readonly #onNumber: OnNumber | undefined;
  readonly #path: (string | number)[] = [];
  #at = 0;

  constructor(text: string, onNumber: OnNumber | undefined) {
    this.#text = text;
    this.#onNumber = onNumber;
  }

  read(): JsonValue {
    const value = this.#value();
    if (this.#next() !== undefined) this.#refuse();
    return value;
  }

  /** The next character that is not white space; it is not consumed. */
  #next(): string | undefined {
    this.#take(space);
    return this.#text[this.#at];
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ''] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }

  #expect(char: string): void {
    if (this.#next() !== char) this.#refuse();
    this.#at++;
  }

  #value(): JsonValue {
    const char = this.#next();
    if (char === '{') return this.#object();
    if (char === '[') return this.#array();
    return char === '"' ? this.#string() : this.#scalar();
  }

  #object(): JsonValue {
    const members: { [key: string]: JsonValue } = {};
    this.#at++;
    if (this.#next() === '}') this.#at++;
    else
      for (let more = true; more; more = this.#more('}')) {
        if (this.#next() !== '"') this.#refuse();
        const key = this.#string();
        this.#expect(':');
        this.#path.push(key);
        defineMember(members, key, this.#value());
        this.#path.pop();
      }
    return members;
  }

  #array(): JsonValue {
    const items: JsonValue[] = [];
    this.#at++;
    if (this.#next() === ']') this.#at++;
    else
      for (let more = true; more; more = this.#more(']')) {
        this.#path.push(items.length);
        items.push(this.#value());
        this.#path.pop();
      }
    return items;
  }

  #more(closer: string): boolean {
    const char = this.#next();
    if (char !== ',' && char !== closer) this.#refuse();
    this.#at++;
    return char === ',';
  }

  /** A lone string has no keys: the platform reads it correctly, and rejects anything else. */
  #string(): string {
    const start = this.#at;
    let end = start + 1;
    while (end < this.#text.length && this.#text[end] !== '"') end += this.#text[end] === '\\' ? 2 : 1;
    this.#at = end + 1;
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #scalar(): JsonValue {
    for (const [word, value] of words)
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    const source = this.#take(number);
    if (source === '') this.#refuse();
    const value = Number(source);
    this.#onNumber?.(value, source, this.#path);
    return value + 0; // -0 would be written, and read again, as 0
  }

  #refuse(): never {
    throw new SyntaxError(`not JSON at position ${this.#at}`);
  }
}
