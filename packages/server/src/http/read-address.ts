/**
 * The address a request comes from, also behind proxies.
 *
 * 1. A header about the address counts only on a connection from a trusted proxy. Any other sender could write it.
 * 2. It is read from the right, because each proxy appends the address of its caller. Reading stops at the first address
 *    that is not a trusted proxy. That caller may have written anything to the left of it.
 * 3. An option names the one header that counts. A proxy passes the other one on as the caller wrote it.
 */
import { BlockList, isIP, isIPv6 } from 'node:net';
import { QuittanceError } from 'quittance/internal/base/error';

export type ProxyTrust = {
  /** Addresses or networks of proxies, e.g. `127.0.0.1`, `10.0.0.0/8`, `fd00::/8`. */
  readonly proxies: readonly string[];
  /** The header that names the proxy's caller. */
  readonly header: ProxyHeader;
};
export const proxyHeaders = ['x-forwarded-for', 'forwarded'] as const;
export type ProxyHeader = (typeof proxyHeaders)[number];

/** The address of the caller, from that of the socket and from the header of proxies. */
export type ReadAddress = (socketAddress: string, header: string | undefined) => string;
export type IsProxy = (address: string) => boolean;

/** More proxies than any setup has. A longer list is not from a proxy. */
const mostHops = 20;

export function createIsProxy({ proxies }: Pick<ProxyTrust, 'proxies'>): IsProxy {
  const trusted = new BlockList();
  for (const proxy of proxies) addNetwork(trusted, proxy);
  return (given) => {
    const address = plainAddress(given);
    return isIP(address) !== 0 && trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  };
}

export function createReadAddress(isTrusted: IsProxy, name: ProxyHeader): ReadAddress {
  return (socketAddress, header) => {
    let address = plainAddress(socketAddress);
    if (header === undefined) return address;
    const hops = name === 'forwarded' ? forwardedHops(header) : header.split(',').slice(-mostHops);
    for (const hop of hops.toReversed()) {
      if (!isTrusted(address)) break;
      const next = hopAddress(hop);
      // A made-up name or no address: only the proxy is known.
      if (next === undefined) break;
      address = next;
    }
    return address;
  };
}

/** The key that limits count by: an address, or the 64-bit network that one IPv6 caller has. */
export function limitKey(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.toLowerCase().split('%', 1)[0]?.split('::', 2) ?? [];
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array.from({ length: zeros }, () => '0'), ...last];
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`;
}

/** IPv4 in its own form, even if the system writes it as IPv6. */
const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');

/** `1.2.3.4`, `1.2.3.4:5678`, `2001:db8::1`, `[2001:db8::1]:5678`. */
function hopAddress(hop: string): string | undefined {
  const text = hop.trim();
  const bare =
    /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
  const address = plainAddress(bare);
  return isIP(address) === 0 ? undefined : address;
}

/** The `for` of each element; an element without one hides its caller. */
function forwardedHops(header: string): readonly string[] {
  return splitOutsideQuotes(header, ',')
    .slice(-mostHops)
    .map((element) => {
      for (const pair of splitOutsideQuotes(element, ';')) {
        const [name = '', ...rest] = pair.split('=');
        if (name.trim().toLowerCase() !== 'for') continue;
        const value = rest.join('=').trim();
        return value.startsWith('"') && value.endsWith('"') && value.length > 1
          ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1')
          : value;
      }
      return '';
    });
}

function splitOutsideQuotes(text: string, separator: string): readonly string[] {
  const parts: string[] = [];
  let begin = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (isQuoted && char === '\\') at++;
    else if (char === '"') isQuoted = !isQuoted;
    else if (char === separator && !isQuoted) {
      parts.push(text.slice(begin, at));
      begin = at + 1;
    }
  }
  return [...parts, text.slice(begin)];
}

function addNetwork(list: BlockList, network: string): void {
  const [address = '', bits, ...more] = network.split('/');
  const family = isIP(address);
  const most = family === 6 ? 128 : 32;
  const isRange = bits !== undefined && /^\d{1,3}$/.test(bits) && Number(bits) <= most && Number(bits) > 0;
  if (family === 0 || more.length > 0 || (bits !== undefined && !isRange))
    throw new QuittanceError(
      'config.invalid',
      `A trusted proxy must be an address such as 10.0.0.7, or a network such as 10.0.0.0/8 or fd00::/8; found ${JSON.stringify(network)}.`,
    );
  const type = family === 6 ? 'ipv6' : 'ipv4';
  if (bits === undefined) list.addAddress(address, type);
  else list.addSubnet(address, Number(bits), type);
}
