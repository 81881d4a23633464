/**
 * Finds paths and hosts in texts. Every text is read as it is, after repeated percent decoding, and with
 * compatibility letters folded (`／` becomes a slash when normalized). A resource counts if any reading names it, so
 * more spellings never mean fewer gates.
 *
 * How a text is read depends on what it is:
 * - a declared or named path or URL is one, whatever it looks like;
 * - a word of a command may be a file in the working directory, an option that contains a path, or a host;
 * - any other value counts by its form: absolute, under `~`, climbing by `..`, a URL. A single word also counts as a
 *   relative path or a bare host. In several words `and/or` is prose;
 * - prose counts only if it is exactly one absolute path or URL.
 */
import { argumentRoleOf } from './argument-role.ts';
import { looksLikeHost, readHostName, type FoundHost } from './host-name.ts';
import { readPath, type PathSpelling, climbs } from './path-spelling.ts';
import { decodePercent } from './percent-decoding.ts';

export type SpelledPath = PathSpelling & { readonly guessed: boolean };

/** With more than this many of a kind, the call counts as unreadable. */
const mostNamed = 2000;

const unknownHost: FoundHost = { name: undefined, port: undefined };

/** One per call: collects the resources that its texts name, each once. */
export class ResourceReader {
  readonly paths: Map<string, SpelledPath> = new Map();
  readonly hosts: Map<string, FoundHost> = new Map();
  hasUnreadablePath = false;
  #gaveUp = false;
  /** Short words already read, so that a text which repeats one a million times costs only one reading. */
  readonly #seen: Set<string> = new Set();

  /** A text that is a path. */
  readPath(text: string, guessed = false, round = 0): void {
    if (this.#gaveUp || text.trim() === '') return;
    if (round > mostRounds) return this.#giveUp();
    const decoded = decodePercent(text);
    const again = decoded === text ? fold(text) : decoded;
    if (again !== text) this.readPath(again, guessed, round + 1);
    // If escapes are decoded, the text itself is only one more way to read it.
    const alsoGuessed = guessed || again !== text;
    const scheme = schemeOf(text) ?? anySchemeOf(text);
    if (scheme === 'file') return this.#readFileUrl(text, alsoGuessed);
    if (scheme !== undefined) {
      this.#readScheme(text, scheme, round, 'value');
      if (!isNetworkScheme(scheme)) this.hasUnreadablePath = true;
    } else if (/^[/\\]{2}[^/\\]/.test(text)) this.#addHost(readHostName(text.replaceAll('\\', '/')));
    this.#addPath(text, alsoGuessed || scheme !== undefined);
    // Several paths in one text, as lists are often written. The colon of a drive does not separate paths.
    const drive = /^[a-z]:(?=[/\\])/i.exec(text)?.[0] ?? '';
    const pieces = text.slice(drive.length).split(/[\s,;|]+|:(?=[/~])(?!\/\/)/);
    if (pieces.length > 1)
      for (const piece of new Set(drive === '' ? pieces : pieces.slice(1)))
        if (isAnchored(piece) || hasDots(piece)) this.readPath(piece, true, round + 1);
  }

  /** A text that is one or more URLs or hosts. */
  readUrl(text: string): void {
    if (this.#readMailboxes(text.trim())) return;
    const joined = text.replace(/[\t\n\r]/g, '').trim();
    for (const one of new Set([joined, ...text.split(/[\s,]+/)])) {
      if (one === '' || isData(one) || (one === joined && /\s/.test(one) && one !== text.trim())) continue;
      this.#readOneUrl(one);
    }
  }

  #readOneUrl(text: string): void {
    if (this.#gaveUp) return;
    const decoded = decodeAll(text);
    const scheme = schemeOf(text) ?? /^([a-z][a-z0-9+-]*):(?!\d)/i.exec(text)?.[1];
    // Only its program knows what another scheme opens: `unix:/run/x.sock`, `sqlite:x`, `jar:file:x!/y`.
    if (scheme !== undefined && scheme !== 'file' && !isNetworkScheme(scheme)) {
      this.hasUnreadablePath = true;
      this.#addHost({ ...unknownHost, unknownScheme: true });
    }
    if (schemeOf(text) === 'file' || (isAnchored(text) && !/^\/\/[^/]/.test(text)) || climbsAt(text))
      this.readPath(text);
    else if (decoded !== text && /^(?:file:|\/(?!\/)|~\/)/i.test(decoded)) this.readPath(decoded);
    else this.#addHost(readHostName(text));
  }

  /** A word of a command. `bareNamesAreFiles`: the program never takes a host by its bare name. */
  readWord(text: string, bareNamesAreFiles: boolean): void {
    this.#readToken(text, 0, bareNamesAreFiles ? 'file' : 'word');
    if (/[\s"',;|()]/.test(text)) this.#readTokens(text, 0);
  }

  /** The value of an argument whose name says nothing. */
  readValue(text: string): void {
    const trimmed = text.trim();
    if (this.#readMailboxes(trimmed)) return;
    // Comments, groups and blanks of mail addresses: `eve@example.org (boss)`, `eve @example.org`.
    if (/\s|;/.test(trimmed))
      for (const [, host = ''] of trimmed.matchAll(
        /(?<=[\p{L}\p{N}"')\]_.+-]\s*)@\s*([\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+)/gu,
      ))
        this.#addHost(readHostName(host));
    if (trimmed.includes('\0') && /[/\\]/.test(trimmed)) this.hasUnreadablePath = true;
    if (/\s/.test(trimmed) && !isListOfHosts(trimmed)) return this.#readTokens(trimmed, 0);
    for (const token of trimmed.split(/\s+/)) this.#readToken(token, 0, 'value');
    if (/["',;|()>[\]{}“”‘’（）「」]/.test(trimmed)) this.#readTokens(trimmed, 0);
  }

  /** `Bob <bob@example.com>`. An address with two at signs counts as an unknown host. */
  #readMailboxes(text: string): boolean {
    const addresses = readMailboxes(text);
    for (const address of addresses ?? []) {
      const host = address.slice(address.lastIndexOf('@') + 1);
      this.#addHost(address.indexOf('@') === address.lastIndexOf('@') ? readHostName(host) : unknownHost);
    }
    return addresses !== undefined;
  }

  readProse(text: string): void {
    const trimmed = text.trim();
    if (trimmed.length > longestPath || /\s/.test(trimmed)) return;
    const decoded = decodeAll(trimmed);
    if ([trimmed, decoded].some((one) => isAnchored(one) || schemeOf(one) !== undefined || climbsAt(one)))
      this.#readToken(trimmed, 0, 'value');
  }

  /** Words between spaces, quotes and brackets. Words that are only relative paths count as prose. */
  #readTokens(text: string, round: number): void {
    for (const [written] of text.matchAll(/[^\s"'`,;|()>“”‘’（）「」]+/g)) {
      if (this.#gaveUp) return;
      const token = written.replace(/^[[{!&+^#*?]+/, '');
      if (/[/\\~%:=\0\u{80}-\u{10ffff}]|\.\./u.test(token)) this.#readToken(token, round, 'text');
    }
  }

  #readToken(token: string, round: number, how: 'word' | 'file' | 'value' | 'text'): void {
    if (this.#gaveUp || token === '' || isData(token)) return;
    if (round > mostRounds) return this.#giveUp();
    const key = token.length <= 256 ? `${how} ${token}` : undefined;
    if (key !== undefined) {
      if (this.#seen.has(key)) return;
      this.#seen.add(key);
    }
    const decoded = decodePercent(token);
    const again = decoded === token ? fold(token) : decoded;
    if (again !== token) {
      this.#readToken(again, round + 1, how);
      if (/\s/.test(again)) this.#readTokens(again, round + 1);
    }
    if (token.startsWith('-') && (how === 'word' || how === 'file' || token.includes('/') || hasDots(token)))
      this.#readOption(token, round, how);
    const scheme = schemeOf(token);
    if (scheme !== undefined) return this.#readScheme(token, scheme, round, how);
    this.#readPieces(token, round, how);
    const isSingle = how !== 'text';
    if (/^[/\\]{2}[\w.-]+\.\w/.test(token)) this.#addHost(readHostName(token.replaceAll('\\', '/')));
    else if (isSingle && looksLikeHost(token) && (how !== 'file' || /[@:]/.test(token)))
      this.#addHost(readHostName(token));
    else if (how === 'word' && /^(?:\d{8,10}|0x[0-9a-f]{7,8})$/i.test(token))
      this.#addHost(readHostName(token));
    const counts = isAnchored(token)
      ? isSingle || namesSomething.test(token)
      : climbsAt(token) ||
        (isSingle && (how === 'value' ? /[^/]\/[^/]/.test(token) : !token.startsWith('-')));
    if (counts && (token.length <= longestPath || foldedLength(token) <= longestPath))
      this.#addPath(token, true);
  }

  /** `https://x`, `file:/x`, `jar:file:/x!/y`, `php://filter/resource=/x`. */
  #readScheme(text: string, scheme: string, round: number, how: 'word' | 'file' | 'value' | 'text'): void {
    if (scheme === 'file') return this.#readFileUrl(text, true);
    const rest = text.slice(scheme.length + 1);
    const inner = schemeOf(rest);
    if (inner !== undefined) {
      this.#addHost(readHostName(text));
      if (round > mostRounds) return this.#giveUp();
      // An archive is opened by its path: `jar:file:/x.jar!/entry`.
      return this.#readScheme(rest.replace(/!.*$/s, ''), inner, round + 1, how);
    }
    if (isNetworkScheme(scheme)) {
      // Programs add the slashes to `http:evil.com`.
      if (/:[/\\]|@/.test(text) || looksLikeHost(rest)) this.#addHost(readHostName(text));
      if (climbsAt(text)) this.#addPath(text, true);
      return;
    }
    // Only its program knows what an unknown scheme opens.
    this.hasUnreadablePath = true;
    this.hosts.set('unknown scheme', { ...unknownHost, unknownScheme: true });
  }

  /** `--file=/x`, `-C/x`, `-xzf/x`, `-d@/x`. */
  #readOption(token: string, round: number, how: 'word' | 'file' | 'value' | 'text'): void {
    const value =
      /^--?[\w-]+[=:](.*)$/s.exec(token)?.[1] ?? (token.startsWith('--') ? undefined : token.slice(2));
    if (value !== undefined && value !== '') this.#readToken(value, round + 1, how);
    // `-vt.git`: the value may start after several letters.
    const bundle = /^-[a-zA-Z]{2,6}(?=[^a-zA-Z=]|[a-zA-Z]+[./])/.exec(token)?.[0] ?? '';
    for (let at = 3; at <= Math.max(bundle.length, bundle === '' ? 0 : 6) && at < token.length; at++)
      this.#readToken(token.slice(at), round + 1, how);
    const attached = /^-[\w-]*?(?=[/~]|\.\.)/.exec(token)?.[0];
    if (attached !== undefined) this.#readToken(token.slice(attached.length), round + 1, 'text');
  }

  /** `name=/x`, `@/x`, `host:/x`, `a,/x`: an anchored part after a mark is a path of its own. */
  #readPieces(token: string, round: number, how: 'word' | 'file' | 'value' | 'text'): void {
    if (!/[=@:,;<]/.test(token)) return;
    // `psql host=db1`, `dsn: "server=db1 user=x"`
    const [, key, host] = /^([a-z_-]+)=([^=]+)$/i.exec(token) ?? [];
    if (key !== undefined && host !== undefined && argumentRoleOf(key) === 'url') this.readUrl(host);
    const urlAt = startOfUrl(token);
    const local = urlAt === undefined ? token : token.slice(0, urlAt);
    if (urlAt !== undefined && urlAt > 0) this.#readToken(token.slice(urlAt), round + 1, how);
    for (const piece of new Set(local.split(/[=@:,;<]+/)))
      if (piece !== token && piece !== '') {
        if (isAnchored(piece) || climbsAt(piece)) this.#readToken(piece, round + 1, 'text');
        // `of=secrets/key`, `HEAD:secrets/key`, `@secrets/key`
        else if (how !== 'text' && piece.length <= longestPath) this.#addPath(piece, true);
      }
  }

  #readFileUrl(text: string, guessed: boolean): void {
    const rest = text.replace(/^[^:]*:/, '').replaceAll('\\', '/');
    const authority = /^\/\/([^/]*)(.*)$/s.exec(rest);
    if (authority !== null && authority[1] !== '' && authority[1]?.toLowerCase() !== 'localhost')
      this.#addHost(readHostName(`//${authority[1] ?? ''}`));
    const path = authority === null ? rest : (authority[2] ?? '');
    for (const one of new Set([path, path.split(/[?#]/, 1)[0] ?? '']))
      this.#addPath(/^\/[a-z]:\//i.test(one) ? one.slice(1) : one === '' ? '/' : one, guessed);
  }

  #addPath(text: string, guessed: boolean): void {
    const spellings = readPath(text);
    if (spellings === undefined) this.hasUnreadablePath = true;
    else for (const spelling of spellings) this.#keep(spelling, guessed);
  }

  #keep(spelling: PathSpelling, guessed: boolean): void {
    const key = `${spelling.root ?? ''}\0${spelling.parts.join('/')}`;
    this.paths.set(key, { ...spelling, guessed: guessed && this.paths.get(key)?.guessed !== false });
    if (this.paths.size > mostNamed) this.#giveUp();
  }

  #addHost(host: FoundHost): void {
    this.hosts.set(host.name === undefined ? '' : `${host.name}:${host.port ?? ''}`, host);
    if (this.hosts.size > mostNamed) this.#giveUp();
  }

  /** Nothing read later could change the verdict, so reading stops. */
  #giveUp(): void {
    this.#gaveUp = true;
    this.hasUnreadablePath = true;
    this.paths.clear();
    this.hosts.clear();
    this.hosts.set('', unknownHost);
  }
}

/** Recognizes paths, URLs and hosts in texts by their form. */

const mostRounds = 6;

/** No system opens a longer path; a longer text that is not named as a path is data. */
const longestPath = 4096;

/** The scheme, if the text has one: a word of two or more letters before a colon that no port follows. */
function schemeOf(text: string): string | undefined {
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

const isNetworkScheme = (scheme: string): boolean => networkSchemes.has(scheme);

/** For a text that is a path: any word before a colon, unless a line number or a time follows. */
const anySchemeOf = (text: string): string | undefined =>
  /^\s*([a-z][a-z0-9+.-]+):(?!\d+(?:[:.,-]\d+)*$)\S/is.exec(text)?.[1]?.toLowerCase();

/** The start of a URL inside a word, such as `--url=https://…`. */
function startOfUrl(text: string): number | undefined {
  const colon = text.indexOf('://');
  if (colon <= 0) return undefined;
  let start = colon;
  while (start > 0 && /[a-z0-9+.-]/i.test(text.charAt(start - 1))) start--;
  return start === colon ? undefined : start;
}

/** A picture or similar data inside its URL: it names nothing. */
const isData = (text: string): boolean => /^data:[\w.+-]+\/[\w.+-]+[;,]/i.test(text);

/** Among other words a lone slash or a comment is not a path: a name must follow the anchor. */
const namesSomething: RegExp =
  /^(?:\\?\/{1,2}|~[\w-]*\/|[a-z]:[/\\]|\$|\\\\|%\w+%[/\\])[\p{L}\p{N}\p{M}_.$%@{[+~?-]/iu;

/** Starts where the text itself says: at the root, a home, a drive, a share or a variable. */
const isAnchored = (text: string): boolean =>
  /^(?:\/|\\\/|~(?:$|[/\\]|[a-z_+-][\w.-]*(?:[/\\]|$))|[a-z]:[/\\]|\\\\[\w.?-]+\\|\$\{?\w|%\w+%[/\\])/i.test(
    text,
  );

const hasDots = (text: string): boolean => text.includes('..');

/** Do its components lead above its start, with either slash? */
const climbsAt = (text: string): boolean =>
  hasDots(text) && climbs(text.split(/[/\\]/).filter((part) => part !== '' && part !== '.'));

const isListOfHosts = (text: string): boolean =>
  text.length <= longestPath && text.split(/[\s,;|]+/).every((word) => looksLikeHost(word));

/**
 * Replaces letters that become a slash, a dot or a backslash when normalized, and letters that only look like a
 * slash.
 */
function fold(text: string): string {
  if (!/[\u{80}-\u{10ffff}]/u.test(text)) return text;
  return text
    .normalize('NFKC')
    .replace(/[\u2044\u2215\u29f8]/g, '/')
    .replace(/[\u29f5\u29f9]/g, '\\');
}

function decodeAll(text: string): string {
  let decoded = text;
  for (let round = 0; round < mostRounds; round++) {
    const next = fold(decodePercent(decoded));
    if (next === decoded) break;
    decoded = next;
  }
  return decoded;
}

function foldedLength(text: string): number {
  return text
    .split('/')
    .reduce((sum, part) => (part === '' || /^\.{1,2}$/.test(part) ? sum : sum + part.length + 1), 0);
}

/**
 * The addresses of a text like `"Bob, b@x.com" <bob@example.com>, eve@example.org`. The name before an address is not
 * part of it, whatever it contains. Undefined if the text is not a list of mail addresses with at least one name.
 */
function readMailboxes(text: string): readonly string[] | undefined {
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
