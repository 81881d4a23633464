/**
 * Reads the host that a text names, in one spelling: lower case, punycode, no trailing dot, `127.0.0.1` for `0x7f.1`.
 * The platform's URL does the work. Texts that parsers read differently (`https://a\@b`, escapes in the name, spaces)
 * have no name and are outside every list, including `*`.
 */

export type FoundHost = {
  /** Undefined if it cannot be determined which host will be contacted. */
  readonly name: string | undefined;
  readonly port: string | undefined;
  /**
   * IPv4 addresses that an IPv6 address reaches through a translator or a tunnel. Rules that deny one deny it too.
   */
  readonly carries?: readonly string[];
  /** Only the program that handles its scheme knows whether there is a host. */
  readonly unknownScheme?: true;
};

const unreadable: FoundHost = { name: undefined, port: undefined };
const defaultPorts: ReadonlyMap<string, string> = new Map([
  ['http', '80'],
  ['https', '443'],
  ['ws', '80'],
  ['wss', '443'],
  ['ftp', '21'],
  ['ssh', '22'],
]);

/** For `scheme://host/…`, `//host/…`, `https:host`, `git@host:path`, `mailto:a@host`, `host`, `host:80/…`. */
export function readHostName(text: string): FoundHost {
  let rest = text.trim();
  if (isBareIpv6(rest)) return readAuthority(`[${rest.replace(/%.*$/, '')}]`, undefined);
  let scheme: string | undefined;
  // `jar:https://…`, `view-source:https://…`: the last scheme is the one that is contacted.
  for (let found = schemeOf(rest); found !== undefined; found = schemeOf(rest)) {
    scheme = found.toLowerCase();
    rest = rest.slice(found.length + 1);
  }
  const slashes = /^[/\\]*/.exec(rest)?.[0] ?? '';
  if (slashes.includes('\\')) return unreadable;
  return readAuthority(rest.slice(slashes.length), scheme);
}

/** The word before a colon, unless a port follows. */
function schemeOf(text: string): string | undefined {
  const found = /^([a-z][a-z0-9+.-]*):(?!\d{1,5}(?:[/?#]|$))/i.exec(text)?.[1];
  // A name with a dot before a colon is a host before a path: `example.com:repo.git`.
  return found === undefined || (found.includes('.') && !text.startsWith('//', found.length + 1))
    ? undefined
    : found;
}

function readAuthority(text: string, scheme: string | undefined): FoundHost {
  const authority = text.split('/', 1)[0] ?? '';
  const query = authority.search(/[?#]/);
  const named = query < 0 ? authority : authority.slice(0, query);
  if (query >= 0 && /[@\\]/.test(authority.slice(query))) return unreadable;
  if ((named.match(/@/g)?.length ?? 0) > 1 || /[\\%\s]/.test(named)) return unreadable;
  const host = named.slice(named.indexOf('@') + 1);
  const parts = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(host);
  if (parts === null) return unreadable;
  const [, name = '', after] = parts;
  // A path follows a colon in scp syntax: `git@example.com:repo.git`.
  const port = after !== undefined && /^\d{1,5}$/.test(after) ? after : undefined;
  if (after !== undefined && after !== '' && port === undefined && scheme !== undefined) return unreadable;
  const host4 = normalizeHost(name);
  const carries = host4 === undefined ? [] : carriedAddresses(host4);
  return {
    name: host4,
    port: port ?? defaultPorts.get(scheme ?? ''),
    ...(carries.length > 0 && { carries }),
  };
}

/** The spelling in which lists are compared. Undefined for a text that is not a host name. */
export function normalizeHost(name: string): string | undefined {
  // `URL` would read these as the end of the name, or decode them.
  if (name === '' || name.length > 1024 || /[\0-\x20/\\?#@%<>^|]/.test(name)) return undefined;
  if (name.includes(':') && !name.startsWith('[')) return undefined;
  const url = URL.parse(`http://${name}/`);
  if (url === null) return undefined;
  const host = url.hostname.replace(/\.+$/, '');
  const mapped = /^\[::(?:ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(host);
  if (mapped !== null) {
    const [, high = '0', low = '0'] = mapped;
    const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
    return `${a >> 8}.${a & 255}.${b >> 8}.${b & 255}`;
  }
  return host === '' ? undefined : host;
}

/**
 * The IPv4 addresses inside an IPv6 address:
 *
 * - NAT64: 64:ff9b::/96 and the local 64:ff9b:1::/48;
 * - 6to4: 2002::/16;
 * - Teredo: 2001::/32, server and client;
 * - translated: ::ffff:0:0/96;
 * - ISATAP: …:5efe:a.b.c.d.
 */
export function carriedAddresses(host: string): readonly string[] {
  const groups = readGroups(host);
  if (groups === undefined) return [];
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  if (a === 0x64 && b === 0xff9b) {
    if (c === 0 && d === 0 && e === 0 && f === 0) return [dotted(g, h)];
    // RFC 6052 puts the address around a byte of zeros, depending on the length of the prefix.
    return [
      dotted(g, h),
      dotted(d, ((e & 0xff) << 8) | (f >> 8)),
      dotted(((e & 0xff) << 8) | (f >> 8), ((f & 0xff) << 8) | (g >> 8)),
    ];
  }
  if (a === 0x2002) return [dotted(b, c)];
  if (a === 0x2001 && b === 0) return [dotted(c, d), dotted(g ^ 0xffff, h ^ 0xffff)];
  if (a === 0 && b === 0 && c === 0 && d === 0 && e === 0xffff && f === 0) return [dotted(g, h)];
  if ((e === 0 || e === 0x200) && f === 0x5efe) return [dotted(g, h)];
  return [];
}

const dotted = (high: number, low: number): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;

/** The eight groups of an address in brackets, as `URL` spells it. */
function readGroups(host: string): readonly number[] | undefined {
  const text = /^\[([0-9a-f:]+)\]$/.exec(host)?.[1];
  if (text === undefined) return undefined;
  const [before = '', after] = text.split('::');
  const read = (part: string): readonly number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const head = read(before);
  const tail = read(after ?? '');
  const zeros = after === undefined ? 0 : 8 - head.length - tail.length;
  const groups = [...head, ...Array.from({ length: Math.max(0, zeros) }, () => 0), ...tail];
  return groups.length === 8 ? groups : undefined;
}

/** File extensions that are not top-level domains: a name with one of them is a file, not a host. */
const fileEndings: ReadonlySet<string> = new Set(
  (
    'bak bin bmp c cfg cjs conf cpp csv cts css dat db dll docx exe env gif gitignore go gz h hpp htm html ico ini ipynb ' +
    'java jpeg jpg js json jsonl jsx key kt lock log lua mjs mts ndjson odt patch pdf pem php png pptx rb scss sql ' +
    'sqlite svg swift tgz tmp toml ts tsv tsx txt vue wasm webp xlsx xml yaml yml'
  ).split(' '),
);

/** `::1`, `fe80::1%eth0`: an address without its brackets. A time or a hardware address does not count. */
export const isBareIpv6 = (text: string): boolean =>
  /^[0-9a-f.]*:[0-9a-f.]*:[0-9a-f:.]*(?:%[\w.-]+)?$/i.test(text) &&
  text.length < 80 &&
  text !== '::' &&
  URL.canParse(`http://[${text.replace(/%.*$/, '')}]/`);

/** Does a text without spaces and without a scheme look like a host: dotted, an address, or `localhost`? */
export function looksLikeHost(text: string): boolean {
  if (text.length > 2048) return false;
  if (isBareIpv6(text)) return true;
  const bare = /^(?:[^@/\\]*@)?(\[[0-9a-f:.]+\]|[^/\\:@?#[\]()*]+)(?::[^/]*)?(?:[/?#].*)?$/is.exec(text);
  const name = bare?.[1]?.toLowerCase().replace(/[.。．｡]+$/, '');
  if (name === undefined || name === '') return false;
  if (name.startsWith('[') || name === 'localhost') return true;
  if (/^(?:(?:0x[0-9a-f]+|\d+)\.){3}(?:0x[0-9a-f]+|\d+)$/.test(name) || /^0x[0-9a-f]{7,8}$/.test(name))
    return true;
  if (/^\d{8,10}$/.test(name) && bare?.[0] !== bare?.[1]) return true;
  const labels = name.split(/[.。．｡]/);
  const last = labels.at(-1) ?? '';
  if (labels.length < 2 || labels.includes('') || !/^(?:xn--[a-z0-9-]+|\p{L}{2,})$/u.test(last)) return false;
  if (!labels.every((label) => /^[\p{L}\p{N}\p{M}_-]+$/u.test(label))) return false;
  return text.includes('@') || text.includes(':') || !fileEndings.has(last);
}
