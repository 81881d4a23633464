/**
 * Secrets known by their value: once hidden in one place, they are hidden everywhere, in any form.
 *
 * 1. One pass over a text, however many values are known. No value is searched for separately.
 * 2. A text or value without a secret is returned itself.
 * 3. The beginning of a long value is hidden too: 32 characters are enough to recognize it.
 */
import type { JsonObject, JsonValue } from './json.ts';
import { defineMember, formatPath } from './json.ts';
import { createKeyPicker } from './key-picker.ts';
import { cutOut } from './text-mask.ts';
import { redacted } from './secret-pattern.ts';
import type { CharacterSpan } from './secret-pattern.ts';

/** A shorter value is hidden only by its name or its place: it would match innocent text. */
export const shortestShared = 8;
/** In the output of a tool, shorter values count too. */
export const shortestEchoed = 4;

export interface KnownSecrets {
  readonly isEmpty: boolean;
  /** The text without the secrets. */
  text(text: string): string;
  /** The value without the secrets, including keys. Adds the paths of hidden values to `hidden`. */
  json(value: JsonValue, hidden?: string[]): JsonValue;
  /** Their positions in a text. */
  spans(text: string): CharacterSpan[];
  readonly values: readonly string[];
}

export const noSecrets: KnownSecrets = Object.freeze({
  isEmpty: true,
  text: (text: string) => text,
  json: (value: JsonValue) => value,
  spans: () => [],
  values: Object.freeze([]),
});

export function createKnownSecrets(values: Iterable<string>, shortest: number): KnownSecrets {
  const known = new Set<string>();
  for (const value of values)
    if (value.trim().length >= shortest && !redacted.includes(value)) known.add(value);
  if (known.size === 0) return noSecrets;
  const find = createFinder(known, shortest);
  const maskText = (text: string): string => {
    const spans = find(text);
    return spans.length === 0 ? text : cutOut(text, spans);
  };
  const maskScalar = (value: JsonValue): JsonValue => {
    if (typeof value === 'string') return maskText(value);
    return typeof value === 'number' && known.has(String(value)) ? redacted : value;
  };
  return {
    isEmpty: false,
    text: maskText,
    json: (value, hidden) => maskJson(value, maskScalar, maskText, hidden),
    spans: find,
    values: [...known],
  };
}

/** Copies only what changes. */
function maskJson(
  value: JsonValue,
  maskScalar: (value: JsonValue) => JsonValue,
  maskText: (text: string) => string,
  hidden: string[] | undefined,
): JsonValue {
  const trail: (string | number)[] = [];
  const note = (): void => void hidden?.push(formatPath(trail));

  const visit = (at: JsonValue): JsonValue => {
    if (typeof at !== 'object' || at === null) {
      const kept = maskScalar(at);
      if (kept !== at) note();
      return kept;
    }
    return Array.isArray(at) ? visitItems(at as readonly JsonValue[]) : visitMembers(at as JsonObject);
  };

  const visitItems = (items: readonly JsonValue[]): JsonValue => {
    let copy: JsonValue[] | undefined;
    for (let index = 0; index < items.length; index++) {
      const item = items[index] as JsonValue;
      trail.push(index);
      const kept = visit(item);
      trail.pop();
      if (kept !== item) (copy ??= [...items])[index] = kept;
    }
    return copy ?? items;
  };

  const visitMembers = (members: JsonObject): JsonValue => {
    const entries: [string, JsonValue][] = [];
    const pickKey = createKeyPicker(members);
    let isChanged = false;
    for (const [key, member] of Object.entries(members)) {
      const keptKey = pickKey(key, maskText(key));
      trail.push(keptKey);
      if (keptKey !== key) note();
      const kept = visit(member);
      trail.pop();
      if (keptKey !== key || kept !== member) isChanged = true;
      entries.push([keptKey, kept]);
    }
    if (!isChanged) return members;
    const copy: { [key: string]: JsonValue } = {};
    for (const [key, member] of entries) defineMember(copy, key, member);
    return copy;
  };

  return visit(value);
}

/** Number of characters that are hashed to check whether a secret may begin there. */
const gramLength = 4;
/** A text that matches a value for this long contains its beginning. */
const longBeginning = 32;

function createFinder(values: ReadonlySet<string>, shortest: number): (text: string) => CharacterSpan[] {
  const byText = new Map<string, { before: number; after: number }>();
  for (const value of values)
    for (const { text, before, after } of formsOf(value))
      if (text.length >= shortest && !byText.has(text) && !redacted.includes(text))
        byText.set(text, { before, after });
  const forms = [...byText.keys()].sort();
  const margins = forms.map((form) => byText.get(form) ?? { before: 0, after: 0 });
  const parents = findParents(forms);
  const beginnings = createGramSet(forms);

  /** The longest form at `at`, or the beginning of one that is long enough to recognize. */
  const findAt = (text: string, at: number, spans: CharacterSpan[]): number => {
    let low = -1;
    let high = forms.length;
    let sharedLow = 0;
    let sharedHigh = 0;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      const form = forms[middle] as string;
      let shared = Math.min(sharedLow, sharedHigh);
      while (
        shared < form.length &&
        at + shared < text.length &&
        form.charCodeAt(shared) === text.charCodeAt(at + shared)
      )
        shared++;
      const isAfter =
        shared < form.length &&
        (at + shared >= text.length || form.charCodeAt(shared) > text.charCodeAt(at + shared));
      if (isAfter) [high, sharedHigh] = [middle, shared];
      else [low, sharedLow] = [middle, shared];
    }
    let match = low;
    while (match >= 0 && (forms[match] as string).length > sharedLow) match = parents[match] as number;
    const shared = Math.max(sharedLow, sharedHigh);
    const matched = match < 0 ? 0 : (forms[match] as string).length;
    if (shared >= longBeginning && shared > matched) {
      spans.push([at, at + shared]);
      return at + shared;
    }
    if (match < 0) return 0;
    const { before, after } = margins[match] as { before: number; after: number };
    const end = Math.min(text.length, at + matched + after);
    spans.push([Math.max(0, at - before), end]);
    return end;
  };

  const findBeginnings = (text: string, spans: CharacterSpan[]): void => {
    for (const cut of ['…', '...'])
      for (let at = text.indexOf(cut); at !== -1; at = text.indexOf(cut, at + cut.length)) {
        const start = beginningBefore(text, at);
        if (start !== undefined) spans.push([start, at]);
      }
  };

  /** Start of a form's beginning that ends at `at`: shortened texts leave such a beginning. */
  const beginningBefore = (text: string, at: number): number | undefined => {
    for (let start = Math.max(0, at - longBeginning); start <= at - gramLength; start++) {
      if (!beginnings.has(text, start)) continue;
      const piece = text.slice(start, at);
      const next = firstNotBefore(forms, piece);
      if (forms[next]?.startsWith(piece) === true) return start;
    }
    return undefined;
  };

  return (text) => {
    const spans: CharacterSpan[] = [];
    let from = 0;
    for (let at = 0; at + gramLength <= text.length; at++) {
      if (at < from - longBeginning) at = from - longBeginning;
      if (beginnings.has(text, at)) from = Math.max(from, findAt(text, at, spans));
    }
    findBeginnings(text, spans);
    return spans;
  };
}

/** For every form, the longest other form that it begins with, or -1. The forms are sorted. */
function findParents(forms: readonly string[]): readonly number[] {
  const open: number[] = [];
  return forms.map((form, index) => {
    while (open.length > 0 && !form.startsWith(forms[open.at(-1) as number] as string)) open.pop();
    const parent = open.at(-1) ?? -1;
    open.push(index);
    return parent;
  });
}

function firstNotBefore(forms: readonly string[], text: string): number {
  let low = 0;
  let high = forms.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((forms[middle] as string) < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Rules out most positions in a text: no form begins there. */
function createGramSet(forms: readonly string[]): {
  readonly has: (text: string, at: number) => boolean;
} {
  let bits = 1 << 12;
  while (bits < forms.length * 64 && bits < 1 << 24) bits <<= 1;
  const set = new Uint8Array(bits >> 3);
  const slotOf = (text: string, at: number): number => {
    let hash = text.charCodeAt(at);
    for (let index = 1; index < gramLength; index++)
      hash = Math.imul(hash, 0x01_00_01_93) ^ text.charCodeAt(at + index);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c_1b_3c_6d);
    return (hash ^ (hash >>> 13)) & (bits - 1);
  };
  for (const form of forms) {
    const slot = slotOf(form, 0);
    set[slot >> 3] = (set[slot >> 3] as number) | (1 << (slot & 7));
  }
  return {
    has: (text, at) => {
      const slot = slotOf(text, at);
      return ((set[slot >> 3] as number) & (1 << (slot & 7))) !== 0;
    },
  };
}

/** The forms of a secret after quoting, escaping or encoding. A hidden value is searched for in all of them. */

/** One form of a secret. */
type SecretForm = {
  readonly text: string;
  /** Characters around the form that share bits with the secret: base64 inside a longer base64 text. */
  readonly before: 0 | 1;
  readonly after: 0 | 1;
};

/** For longer values only quoting is considered. A file of megabytes is not encoded to hide a password. */
const longestEncoded = 65_536;
/** No quoting, escaping or URL encoding changes such a value. */
const unchanged = /^[\w-]*$/;
/** Encodings of shorter values occur in innocent text. */
const shortestEncoded = 8;

function formsOf(value: string): readonly SecretForm[] {
  const forms = new Map<string, SecretForm>();
  const add = (text: string, before: 0 | 1 = 0, after: 0 | 1 = 0): void => {
    if (!forms.has(text)) forms.set(text, { text, before, after });
  };
  add(value);
  const quoted = inJson(value);
  add(quoted);
  if (value.length > longestEncoded) return [...forms.values()];
  if (!unchanged.test(value)) {
    for (const spell of spellings) add(spell(value));
    if (!value.isWellFormed()) return [...forms.values()];
    for (const form of [value.normalize('NFC'), value.normalize('NFD')]) add(form);
    for (const encode of urlEncodings) {
      const encoded = encode(value);
      add(encoded);
      add(encoded.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()));
    }
  }
  if (value.length < shortestEncoded) return [...forms.values()];
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  add(hex);
  add(hex.toUpperCase());
  for (const offset of [0, 1, 2] as const) addBase64(bytes, offset, add);
  return [...forms.values()];
}

/** Adds what the base64 of any text with these bytes at `offset` (modulo 3) must contain. */
function addBase64(
  bytes: Buffer,
  offset: 0 | 1 | 2,
  add: (text: string, before: 0 | 1, after: 0 | 1) => void,
): void {
  const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
  const whole = padded.toString('base64').replaceAll('=', '');
  const isCut = padded.length % 3 !== 0;
  const sure = whole.slice(offset === 0 ? 0 : offset + 1, isCut ? -1 : undefined);
  const before = offset === 0 ? 0 : 1;
  const after = isCut ? 1 : 0;
  add(sure, before, after);
  add(sure.replaceAll('+', '-').replaceAll('/', '_'), before, after);
}

const inJson = (value: string): string => JSON.stringify(value).slice(1, -1);
const toEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
/** As JSON writers that use only ASCII do. */
const inAsciiJson = (value: string): string => inJson(value).replaceAll(/[\u0080-\uffff]/g, toEscape);
const doubled = (quote: string) => (value: string) => value.replaceAll(quote, quote + quote);

const spellings: readonly ((value: string) => string)[] = [
  (value) => inJson(inJson(value)),
  (value) => inJson(inJson(inJson(value))),
  inAsciiJson,
  (value) => inJson(inAsciiJson(value)),
  (value) => inJson(value).replaceAll('/', '\\/'),
  (value) => inJson(value).replaceAll(/[<>&\u2028\u2029]/g, toEscape),
  (value) => inJson(value).replaceAll(/[<>&'\u2028\u2029]/g, toEscape),
  inXmlText,
  (value) => inXmlText(value).replaceAll('"', '&quot;'),
  (value) => inXmlText(value).replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
  (value) => inXmlText(value).replaceAll('"', '&quot;').replaceAll("'", '&#x27;'),
  (value) => inXmlText(value).replaceAll('"', '&quot;').replaceAll("'", '&apos;'),
  (value) => inXmlText(value).replaceAll('"', '&#34;').replaceAll("'", '&#39;'),
  (value) => value.replaceAll("'", String.raw`'\''`),
  (value) => value.replaceAll("'", String.raw`\'`),
  (value) => value.replaceAll(/[\\"$`]/g, String.raw`\$&`),
  (value) => value.replaceAll(/[^\w@%+=:,./-]/g, String.raw`\$&`),
  doubled("'"),
  doubled('"'),
  (value) => value.trim(),
];

function inXmlText(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const percent = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

const urlEncodings: readonly ((value: string) => string)[] = [
  encodeURIComponent,
  encodeURI,
  (value) => encodeURIComponent(value).replaceAll(/[!'()*]/g, percent),
  (value) =>
    encodeURIComponent(value)
      .replaceAll(/[!'()~]/g, percent)
      .replaceAll('%20', '+'),
  (value) => encodeURIComponent(encodeURIComponent(value)),
];
