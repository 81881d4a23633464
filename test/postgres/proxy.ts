/** Stands between a ledger and the server. It can be started before the server can be reached, and cut. */
import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { findPort } from '../find-port.ts';

export class Proxy {
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  port = 0;

  constructor(target: string) {
    this.#target = new URL(target);
  }

  /** The URL of the server through this proxy. */
  get url(): string {
    const url = new URL(this.#target);
    url.port = String(this.port);
    return url.href;
  }

  /** Chooses the port and leaves it closed. */
  async reserve(): Promise<void> {
    this.port = await findPort();
  }

  async open(): Promise<void> {
    this.#server = createServer((client) => {
      const upstream = connect(Number(this.#target.port), this.#target.hostname);
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          this.#sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      client.pipe(upstream);
      upstream.pipe(client);
    });
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
