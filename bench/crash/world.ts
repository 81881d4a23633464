/** The world outside: another process that counts what really happened. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface World {
  readonly url: string;
  /** How often the effect of this key happened. */
  count(key: string): number;
  close(): void;
}

/** Effects are counted by key; with `once` in the request a key counts no more than once, as a service with idempotency keys does. */
export async function openWorld(): Promise<World> {
  const effects = new Map<string, number>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://world');
    const key = url.searchParams.get('key') ?? '';
    const happened = effects.get(key) ?? 0;
    if (request.method === 'POST' && !(url.searchParams.has('once') && happened > 0))
      effects.set(key, happened + 1);
    response.end(String(effects.get(key) ?? 0));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server has a port
  return {
    url: `http://127.0.0.1:${port}`,
    count: (key) => effects.get(key) ?? 0,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
