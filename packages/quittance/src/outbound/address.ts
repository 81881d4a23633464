/** Hosts and addresses of outgoing requests, by what they reach. A name is not resolved here. */
import { isIP, isIPv4 } from 'node:net';

/** The host without brackets, port and final dot. */
export const hostOf = (url: URL): string =>
  url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();

/** Does the host name this machine? */
export const isLoopback = (host: string): boolean => {
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  const address = plainAddress(host);
  return address === '::1' || (isIPv4(address) && address.startsWith('127.'));
};

/** Addresses no server is reached at: link-local, metadata services, "any", multicast. False for names. */
export function isForbiddenAddress(host: string): boolean {
  if (isIP(host) === 0) return false;
  const address = plainAddress(host);
  if (isIPv4(address)) {
    const [a = 0, b = 0] = address.split('.').map(Number);
    return (a === 169 && b === 254) || a === 0 || a >= 224 || metadataAddresses.has(address);
  }
  const words = toWords(address);
  const [first = 0, second = 0] = words;
  return (
    // NAT64 of a local network: it may hold any IPv4 address, at a place that only that network knows.
    (first === 0x64 && second === 0xff9b) ||
    // Translated IPv4 addresses, which stay inside of one network.
    (words.slice(0, 4).every((word) => word === 0) && words[4] === 0xffff) ||
    words.every((word) => word === 0) ||
    (first & 0xffc0) === 0xfe80 ||
    (first & 0xff00) === 0xff00 ||
    metadataAddresses.has(words.map((word) => word.toString(16)).join(':'))
  );
}

/** Alibaba, Oracle, Azure, and AWS and Google over IPv6. */
const metadataAddresses = new Set([
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
  'fd00:ec2:0:0:0:0:0:254',
  'fd20:ce:0:0:0:0:0:254',
]);

/** The IPv4 address within an IPv6 address (mapped, compatible, NAT64, 6to4), else the address itself. */
function plainAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  const words = toWords(address);
  const toIPv4 = (high = 0, low = 0): string => [high >> 8, high & 255, low >> 8, low & 255].join('.');
  const [zeros, rest] = [words.slice(0, 5).every((word) => word === 0), words.slice(6)];
  if (words.slice(0, 7).every((word) => word === 0) && (words[7] ?? 0) <= 1)
    return words[7] === 1 ? '::1' : '::';
  if (zeros && (words[5] === 0 || words[5] === 0xffff)) return toIPv4(...rest);
  if (words[0] === 0x64 && words[1] === 0xff9b && words.slice(2, 6).every((word) => word === 0))
    return toIPv4(...rest);
  if (words[0] === 0x2002) return toIPv4(words[1], words[2]);
  return address;
}

/** The eight words of an IPv6 address. */
function toWords(address: string): readonly number[] {
  // The URL parser writes an address in one canonical way and turns a dotted end into words.
  const canonical = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const read = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((word) => Number.parseInt(word, 16));
  const [before, after] = [read(head), read(tail ?? '')];
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}

/**
 * Is this an address inside a private network: RFC 1918, carrier-grade NAT, unique local IPv6, this machine, or a
 * reserved range? False for names.
 */
export function isPrivateAddress(host: string): boolean {
  if (isIP(host) === 0) return false;
  if (isLoopback(host) || isForbiddenAddress(host)) return true;
  const address = plainAddress(host);
  if (!isIPv4(address)) {
    const [first = 0, second = 0] = toWords(address);
    const isDocumentation = (first === 0x2001 && second === 0xdb8) || (first === 0x3fff && second < 0x1000);
    // Teredo, which holds an IPv4 address, and other protocols that have no servers.
    const isSpecial = first === 0x2001 && second < 0x200;
    // Unique local, and the site-local range that preceded it. Everything outside 2000::/3 is not public either.
    return (
      (first & 0xfe00) === 0xfc00 ||
      (first & 0xffc0) === 0xfec0 ||
      (first & 0xe000) !== 0x2000 ||
      isDocumentation ||
      isSpecial
    );
  }
  const [a = 0, b = 0, c = 0] = address.split('.').map(Number);
  return (
    a === 10 ||
    (a === 172 && b >= 16 && b <= 31) ||
    (a === 192 && b === 168) ||
    (a === 100 && b >= 64 && b <= 127) ||
    (a === 192 && b === 0 && (c === 0 || c === 2)) ||
    (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) ||
    (a === 203 && b === 0 && c === 113) ||
    (a === 192 && b === 88 && c === 99)
  );
}
