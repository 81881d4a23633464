/** A small HTTP service on this machine: the outside world of the demo. It counts the requests it receives. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { createServer as createSocketServer } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Shop {
  readonly url: string;
  /** An address without a server. */
  readonly deadUrl: string;
  /** The requests that reached the shop, e.g. `POST /refunds`. */
  readonly seen: string[];
  /** Sets the delay of answers to a POST. */
  answerAfter(ms: number): void;
  close(): Promise<void>;
}

type Answer = readonly [status: number, body: unknown];

export async function openShop(): Promise<Shop> {
  const seen: string[] = [];
  let delayMs = 0;

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    const path = request.url ?? '/';
    seen.push(`${request.method} ${path}`);
    if (request.method === 'POST') {
      const body = await json(request);
      if (path === '/sign-in') return signIn(body);
      await sleep(delayMs, undefined, { ref: false });
      return [201, { number: seen.filter((line) => line === `POST ${path}`).length }];
    }
    switch (path) {
      case '/rate':
        return [500, { error: 'database is on fire' }];
      case '/stock':
        return [200, { croissant: 'plenty' }];
      case '/sales':
        return [200, sales];
      case '/forecast':
        await sleep(250, undefined, { ref: false });
        return [200, { loaves: 40 }];
      default:
        return order(Number(/^\/orders\/(\d+)$/.exec(path)?.[1]));
    }
  };

  const server = createServer((request, response) => {
    answer(request).then(
      ([status, body]) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      },
      () => response.destroy(),
    );
  });
  const url = await listen(server);
  return {
    url,
    deadUrl: await findDeadUrl(),
    seen,
    answerAfter: (ms) => {
      delayMs = ms;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const sales = Array.from({ length: 600 }, (_, n) => ({ order: n, cents: 250 + 7 * n, paid: n % 9 !== 0 }));

const order = (id: number): Answer =>
  id > 0 && id < 100 ? [200, { id, customer: 'Ben', cents: 400 + id }] : [404, { error: `No order ${id}.` }];

/** A service that reveals too much: it repeats the password. */
function signIn(body: unknown): Answer {
  const { password } = body as { password?: unknown };
  return password === 'rye-and-salt' ? [200, { welcome: `${password} is right` }] : [403, { error: 'no' }];
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a listening TCP server has one
  return `http://127.0.0.1:${port}`;
}

/** A port that was free a moment ago. */
async function findDeadUrl(): Promise<string> {
  const server = createSocketServer();
  const url = await listen(server);
  server.close();
  await once(server, 'close');
  return url;
}
