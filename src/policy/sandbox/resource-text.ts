/** Recognizes paths, URLs and hosts in texts by their form. */
import { looksLikeHost } from './host-name.ts';
import { climbs } from './path-spelling.ts';
import { decodePercent } from './percent-decoding.ts';

export const mostRounds = 6;

/** No system opens a longer path; a longer text that is not named as a path is data. */
export const longestPath = 4096;

/** The scheme, if the text has one: a word of two or more letters before a colon that no port follows. */
export function schemeOf(text: string): string | undefined {
  const found = /^([a-z][a-z0-9+.-]+):(?=\S)(?!\d{1,5}(?:[/?#]|$))/i.exec(text)?.[1]?.toLowerCase();
  if (found === undefined) return undefined;
  const isUrl =
    text.startsWith('//', found.length + 1) ||
    /^(?:file|https?|wss?|ftp|mailto|jar|blob|view-source|filesystem|zip|phar|sqlite3?|php|glob|resource)$/.test(
      found,
    ) ||
    /^[a-z][a-z0-9+.-]+:(?:\/\/|[/~]|\.\.|file:)/i.test(text.slice(found.length + 1));
  return isUrl ? found : undefined;
}

/** Schemes that name a host and no file of this machine. */
const networkSchemes: ReadonlySet<string> = new Set(
  (
    'http https ws wss ftp ftps sftp ssh git git+ssh git+https git+http svn ldap ldaps mailto postgres postgresql mysql ' +
    'mariadb mongodb mongodb+srv redis rediss amqp amqps nats mqtt mqtts tcp udp tls grpc s3 gs docker oci npm stun ' +
    'stuns turn turns rtsp rtmp smtp smtps imap imaps pop3 pop3s irc ircs magnet tel sms urn about'
  ).split(' '),
);

export const isNetworkScheme = (scheme: string): boolean => networkSchemes.has(scheme);

/** For a text that is a path: any word before a colon, unless a line number or a time follows. */
export const anySchemeOf = (text: string): string | undefined =>
  /^\s*([a-z][a-z0-9+.-]+):(?!\d+(?:[:.,-]\d+)*$)\S/is.exec(text)?.[1]?.toLowerCase();

/** The start of a URL inside a word, such as `--url=https://…`. */
export function startOfUrl(text: string): number | undefined {
  const colon = text.indexOf('://');
  if (colon <= 0) return undefined;
  let start = colon;
  while (start > 0 && /[a-z0-9+.-]/i.test(text.charAt(start - 1))) start--;
  return start === colon ? undefined : start;
}

/** A picture or similar data inside its URL: it names nothing. */
export const isData = (text: string): boolean => /^data:[\w.+-]+\/[\w.+-]+[;,]/i.test(text);

/** Among other words a lone slash or a comment is not a path: a name must follow the anchor. */
export const namesSomething: RegExp =
  /^(?:\\?\/{1,2}|~[\w-]*\/|[a-z]:[/\\]|\$|\\\\|%\w+%[/\\])[\p{L}\p{N}\p{M}_.$%@{[+~?-]/iu;

/** Starts where the text itself says: at the root, a home, a drive, a share or a variable. */
export const isAnchored = (text: string): boolean =>
  /^(?:\/|\\\/|~(?:$|[/\\]|[a-z_+-][\w.-]*(?:[/\\]|$))|[a-z]:[/\\]|\\\\[\w.?-]+\\|\$\{?\w|%\w+%[/\\])/i.test(
    text,
  );

export const hasDots = (text: string): boolean => text.includes('..');

/** Do its components lead above its start, with either slash? */
export const climbsAt = (text: string): boolean =>
  hasDots(text) && climbs(text.split(/[/\\]/).filter((part) => part !== '' && part !== '.'));

export const isListOfHosts = (text: string): boolean =>
  text.length <= longestPath && text.split(/[\s,;|]+/).every((word) => looksLikeHost(word));

/**
 * Replaces letters that become a slash, a dot or a backslash when normalized, and letters that only look like a
 * slash.
 */
export function fold(text: string): string {
  if (!/[\u{80}-\u{10ffff}]/u.test(text)) return text;
  return text
    .normalize('NFKC')
    .replace(/[\u2044\u2215\u29f8]/g, '/')
    .replace(/[\u29f5\u29f9]/g, '\\');
}

export function decodeAll(text: string): string {
  let decoded = text;
  for (let round = 0; round < mostRounds; round++) {
    const next = fold(decodePercent(decoded));
    if (next === decoded) break;
    decoded = next;
  }
  return decoded;
}

export function foldedLength(text: string): number {
  return text
    .split('/')
    .reduce((sum, part) => (part === '' || /^\.{1,2}$/.test(part) ? sum : sum + part.length + 1), 0);
}

/**
 * The addresses of a text like `"Bob, b@x.com" <bob@example.com>, eve@example.org`. The name before an address is not
 * part of it, whatever it contains. Undefined if the text is not a list of mail addresses with at least one name.
 */
export function readMailboxes(text: string): readonly string[] | undefined {
  if (text.length > longestPath || !/<[^<>]*@[^<>]*>/.test(text)) return undefined;
  const mailbox =
    /\s*(?:(?:"(?:[^"\\]|\\.)*"|[^"<>,;])*<\s*([^<>\s]*@[^<>\s]*)\s*>|([^<>"\s,;]+@[^<>"\s,;]+))\s*(?:[,;]|$)/y;
  const found: string[] = [];
  while (mailbox.lastIndex < text.length) {
    const match = mailbox.exec(text);
    if (match === null) return undefined;
    found.push(match[1] ?? match[2] ?? '');
  }
  return found;
}
