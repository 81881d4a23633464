/** The names under which the server answers. */

type NameOptions = { readonly allowHosts?: readonly string[]; readonly publicUrl?: string };

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);
const isLoopback = (host: string): boolean => /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/.test(host);

/** The address of the server for a browser, which cannot open the one that means all interfaces. */
export const ownUrl = (host: string, port: number): string => `http://${bracketed(reached(host))}:${port}`;

const reached = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

/** The names a request may use as Host: the server's own, and those in the options. */
export function allowedHosts(
  host: string,
  port: number,
  { allowHosts = [], publicUrl }: NameOptions,
): ReadonlySet<string> {
  // A server on all interfaces also listens on loopback, whose names cannot point to another machine.
  const isHere = isLoopback(host) || host === '0.0.0.0' || host === '::';
  const own = isHere ? ['localhost', '127.0.0.1', '[::1]', bracketed(host)] : [bracketed(host)];
  const names = own.map((name) => `${name}:${port}`);
  const others = [...allowHosts, ...(publicUrl === undefined ? [] : [new URL(publicUrl).host])];
  return new Set(
    [...names, ...(port === 80 ? own : []), ...others, ...others.map((name) => `${name}:${port}`)].map(
      (name) => name.toLowerCase(),
    ),
  );
}
