/** The forms of a secret after quoting, escaping or encoding. A hidden value is searched for in all of them. */

/** One form of a secret. */
export type SecretForm = {
  readonly text: string;
  /** Characters around the form that share bits with the secret: base64 inside a longer base64 text. */
  readonly before: 0 | 1;
  readonly after: 0 | 1;
};

/** For longer values only quoting is considered. A file of megabytes is not encoded to hide a password. */
const longestEncoded = 65_536;
/** Encodings of shorter values occur in innocent text. */
const shortestEncoded = 8;

export function formsOf(value: string): readonly SecretForm[] {
  const forms = new Map<string, SecretForm>();
  const add = (text: string, before: 0 | 1 = 0, after: 0 | 1 = 0): void => {
    if (!forms.has(text)) forms.set(text, { text, before, after });
  };
  add(value);
  const quoted = inJson(value);
  add(quoted);
  if (value.length > longestEncoded) return [...forms.values()];
  for (const spell of spellings) add(spell(value));
  if (!value.isWellFormed()) return [...forms.values()];
  for (const form of [value.normalize('NFC'), value.normalize('NFD')]) add(form);
  for (const encode of urlEncodings) {
    const encoded = encode(value);
    add(encoded);
    add(encoded.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()));
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
