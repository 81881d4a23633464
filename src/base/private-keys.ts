/**
 * Private keys, as a text and spread over a payload. Programs return files as lists of lines or rows, so the
 * marker of a key and its lines may be in different texts.
 */
import type { JsonObject, JsonValue } from './json.ts';
import type { CharacterSpan, SecretPattern } from './secret-pattern.ts';

const source = String.raw;
const digit = '[A-Za-z0-9+/]';
const kinds = ['', 'RSA ', 'EC ', 'DSA ', 'OPENSSH ', 'ENCRYPTED ', 'PGP '];

/** Between two lines: real or escaped line ends, then a file name, a line number or the mark of a quotation. */
const lineEnd = source`(?:\\+[nrt]|\s){1,8}(?:[^\r\n]{0,80}[^A-Za-z0-9+/=\r\n\\])?`;

const block: SecretPattern = {
  name: 'private key block',
  // A cut-off key is hidden up to the next dashes.
  pattern:
    /-{4,5}\s?BEGIN\s[A-Z0-9\s]{0,40}PRIVATE\s{1,4}KEY(?:\sBLOCK)?\s?-{4,5}[^-]*(?:-(?!---)[^-]*)*(?:-{4,5}\s?END\s[A-Z0-9\s]{0,50}-{4,5})?/,
};

const tail: SecretPattern = {
  name: 'tail of a private key',
  // Matched backwards from the marker: no text is read twice.
  pattern: new RegExp(
    source`(?<=(?<secret>(?:(?<!\\)${digit}{40,}${lineEnd})*(?<!\\)${digit}+={0,2}${lineEnd}))-{4,5}\s?END\s[A-Z0-9\s]{0,40}PRIVATE\s{1,4}KEY`,
  ),
  confirm: (text) => /[A-Za-z0-9+/]{24}/.test(text),
};

/** The base64 of `-----BEGIN RSA PRIVATE KEY`, without the last digits that depend on what follows. */
const encodedMarkers = kinds.map((kind) => {
  const marker = `-----BEGIN ${kind}PRIVATE KEY`;
  return btoa(marker.slice(0, marker.length - (marker.length % 3)));
});

/** The same encoded twice, as in a secret inside a secret. */
const twiceEncodedMarkers = encodedMarkers.map((marker) =>
  btoa(marker.slice(0, marker.length - (marker.length % 3))),
);

const encoded: SecretPattern = {
  name: 'encoded private key',
  pattern: new RegExp(
    source`(?:${[...encodedMarkers, ...twiceEncodedMarkers].join('|')})[\w+/-]*(?:(?:\\?[\r\nrn]{1,4}|\\?"\s{0,4},\s{0,4}\\?")[\w+/-]{20,}){0,400}(?:(?:\\?[\r\nrn]{1,4}|\\?"\s{0,4},\s{0,4}\\?")[\w+/-]{2,19})?={0,2}`,
  ),
};

/** `-----BEGIN` and `PRIVATE` as hexadecimal digits, then the rest of them. */
const hexadecimal: SecretPattern = {
  name: 'private key in hexadecimal digits',
  pattern: new RegExp(
    source`(?:2[dD]){5}424547494[eE]20(?:[\da-fA-F]\s?){0,40}?5\s?0\s?5\s?2\s?4\s?9\s?5\s?6\s?4\s?1\s?5\s?4\s?4\s?5[\da-fA-F\s",]*`,
  ),
};

/** A text of the lines from the last to the first, e.g. of `tac`. Two keys in a row have no line between their markers. */
const lastLineFirst: SecretPattern = {
  name: 'private key from its last line',
  pattern:
    /-{4,5}\s?END\s[A-Z0-9\s]{0,40}PRIVATE\s{1,4}KEY(?:\sBLOCK)?\s?-{4,5}(?<secret>[^-]{24,})-{4,5}\s?BEGIN\s[A-Z0-9\s]{0,40}PRIVATE/,
  confirm: (text) => /[A-Za-z0-9+/]{40}/.test(text),
};

const codesOf = (text: string): string =>
  Array.from(text, (letter) => letter.codePointAt(0)).join(source`,\s?`);

const webKeyValue = source`\\{0,7}"\s{0,8}:\s{0,8}(?<secret>\\{0,7}"[\w-]{16,}`;

export const privateKeyPatterns: readonly SecretPattern[] = [
  block,
  tail,
  encoded,
  hexadecimal,
  lastLineFirst,
  {
    name: 'private key from its last letter',
    pattern: /-{4,5}(?:KCOLB\s)?YEK\sETAVIRP\s[A-Z\s]{0,20}DNE-{4,5}[^-]*/,
  },
  {
    // The bytes of a file as a list of numbers.
    name: 'private key in decimal numbers',
    pattern: new RegExp(
      source`${codesOf('-----BEGIN ')}(?:,\s?\d{1,3}){0,20}?,\s?${codesOf('PRIVATE')}(?:,\s?\d{1,3})*`,
    ),
  },
  {
    // PKCS #8 without markers: RSA, P-256 and Ed25519. The public part of a pair begins differently.
    name: 'bare private key',
    pattern:
      /MII[A-Za-z0-9+/]{2,5}IBADANBgkqhkiG9w0BAQEFAAS[A-Za-z0-9+/]{40,}={0,2}|MIGHAgEAMBMGByqGSM49AgEG[A-Za-z0-9+/]{60,}={0,2}|MC4CAQAwBQYDK2VwBCIEI[A-Za-z0-9+/]{40,}={0,2}/,
  },
  { name: 'PuTTY key', pattern: /Private-Lines:\s{0,4}\d{1,4}(?<secret>[A-Za-z0-9+/=\s\\]{16,})/ },
  {
    // The other private members follow the first one, so the rest of the object is hidden.
    name: 'private JSON web key',
    pattern: new RegExp(source`"kty(?:(?!"kty)[^{}])*?"[dk]${webKeyValue}[^{}]*)`),
  },
  {
    name: 'sorted private JSON web key',
    pattern: new RegExp(source`"[dk]${webKeyValue}(?=(?:(?!"[dk]\\{0,7}")[^{}])*"kty)[^{}]*)`),
  },
];

/** Matches every text that one of these matches. Used in a pattern that ignores case. */
export const privateKeyHint: string = source`-{4,5}\s?(?:begin|end)\s|LS0tLS1CRUdJTi|${btoa('LS0tLS1CRUdJTi'.slice(0, 12))}|(?:2d){5}42|${codesOf('-----B')}|yek\setavirp|MIGHAgEAMBMGByqGSM49|MC4CAQAwBQYDK2Vw|IBADANBgkqhkiG9w|private-lines:|"kty\\{0,7}"`;

/** The members of a JSON web key that are private. */
const privateMembers: ReadonlySet<string> = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']);
const isPrivateWebKey = (members: JsonObject): boolean =>
  typeof members['kty'] === 'string' &&
  (typeof members['d'] === 'string' || typeof members['k'] === 'string');

/** Is the member a part of a private JSON web key? */
export const isWebKeyPart = (members: JsonObject, key: string): boolean =>
  privateMembers.has(key) && isPrivateWebKey(members);

/** Texts in which a part of a key was found, by the list or object that holds them and their key in it. */
export type SplitKeys = ReadonlyMap<object, ReadonlyMap<string | number, readonly CharacterSpan[]>>;

const none: SplitKeys = new Map();

type Leaf = { readonly holder: object; readonly key: string | number; readonly text: string };

/**
 * Finds keys whose lines are in different texts. Texts in the same column are joined by line ends: the items of a
 * list, one member of every row, members called `line1`, `line2`.
 */
export function findSplitKeys(value: JsonValue): SplitKeys {
  if (typeof value !== 'object' || !mentionsKey(value)) return none;
  const columns = new Map<string, Leaf[]>();
  collect(value, '', columns);
  const cuts = new Map<object, Map<string | number, CharacterSpan[]>>();
  for (const leaves of columns.values()) if (leaves.length > 1) cutColumn(leaves, cuts);
  return cuts;
}

/** The marker of a key in clear, in base64 or in hexadecimal digits. */
const splitHint = /PRIVATE|LS0tLS1CRUdJTi|TFMwdExTMUNSVWRK|(?:2d){5}42/i;

function mentionsKey(value: JsonValue): boolean {
  if (typeof value === 'string') return splitHint.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(mentionsKey);
}

function collect(value: JsonValue, column: string, columns: Map<string, Leaf[]>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value) as [string, JsonValue][]) {
    const inner = `${column}/${name.replaceAll(/\d+/g, '#')}`;
    if (typeof member !== 'string') collect(member, inner, columns);
    else {
      const leaf = { holder: value, key: Array.isArray(value) ? Number(name) : name, text: member };
      const leaves = columns.get(inner);
      if (leaves === undefined) columns.set(inner, [leaf]);
      else leaves.push(leaf);
    }
  }
}

function cutColumn(leaves: readonly Leaf[], cuts: Map<object, Map<string | number, CharacterSpan[]>>): void {
  const joined = leaves.map(({ text }) => text).join('\n');
  const spans = [block, tail, encoded, hexadecimal, lastLineFirst].flatMap((each) => spansOf(each, joined));
  let start = 0;
  for (const { holder, key, text } of leaves) {
    const end = start + text.length;
    const own = spans
      .map(([from, to]): CharacterSpan => [Math.max(from, start) - start, Math.min(to, end) - start])
      .filter(([from, to]) => from < to);
    if (own.length > 0) {
      const ofHolder = cuts.get(holder) ?? new Map<string | number, CharacterSpan[]>();
      cuts.set(holder, ofHolder.set(key, own));
    }
    start = end + 1;
  }
}

function spansOf({ pattern, confirm }: SecretPattern, text: string): CharacterSpan[] {
  return [...text.matchAll(new RegExp(pattern, 'dg'))].flatMap(({ indices }) => {
    const span = indices?.groups?.['secret'] ?? indices?.[0];
    return span !== undefined && (confirm === undefined || confirm(text.slice(...span))) ? [span] : [];
  });
}
