/** The outside world: another process that counts the effects. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface World {
  readonly url: string;
  /** Number of effects of this key. */
  count(key: string): number;
  close(): void;
}

/**
 * Effects are counted by key; with `once` in the request a key counts at most once, like a service with idempotency
 * keys.
 */
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
