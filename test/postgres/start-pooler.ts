/**
 * A pooler in transaction mode, as PgBouncer is: clients get another server connection for every transaction, at random.
 * Session state of one transaction is therefore gone, or belongs to another client, in the next. The server must trust
 * its clients.
 */
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

export type PgPooler = { readonly url: string; readonly transactions: () => number; close(): Promise<void> };

type Upstream = { readonly socket: Socket; reader: (kind: string, message: Buffer) => void };

const protocolVersion = 196_608;

export async function startPooler(serverUrl: string, size: number): Promise<PgPooler> {
  const target = new URL(serverUrl);
  const all = await Promise.all(Array.from({ length: size }, () => openUpstream(target)));
  const free = [...all];
  const waiting: ((upstream: Upstream) => void)[] = [];
  const clients = new Set<Socket>();
  let transactions = 0;

  const take = async (): Promise<Upstream> => {
    transactions++;
    const [chosen] = free.splice(Math.floor(Math.random() * free.length), 1);
    return chosen ?? new Promise((resolve) => waiting.push(resolve));
  };
  const giveBack = (upstream: Upstream): void => {
    upstream.reader = () => undefined;
    const next = waiting.shift();
    if (next === undefined) free.push(upstream);
    else next(upstream);
  };

  const server = createServer((client) => {
    clients.add(client);
    client.setNoDelay(true);
    client.on('error', () => undefined);
    client.on('close', () => clients.delete(client));
    let held: Promise<Upstream> | undefined;
    const hold = (): Promise<Upstream> => {
      held ??= take().then((upstream) => {
        upstream.reader = (kind, message) => {
          client.write(message);
          if (kind !== 'Z' || message[5] !== 'I'.charCodeAt(0)) return;
          held = undefined;
          giveBack(upstream);
        };
        return upstream;
      });
      return held;
    };
    let isStarted = false;
    let pending: Buffer[] = [];
    let work = Promise.resolve();
    readMessages(
      client,
      () => !isStarted,
      (kind, message) => {
        if (!isStarted) {
          isStarted = true;
          client.write(greeting());
          return;
        }
        if (kind === 'X') {
          client.end();
          return;
        }
        pending.push(message);
        if (kind !== 'S' && kind !== 'Q') return;
        const whole = Buffer.concat(pending);
        pending = [];
        work = work.then(async () => {
          (await hold()).socket.write(whole);
        });
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(serverUrl);
  url.port = String((server.address() as AddressInfo).port); // a TCP server has a port
  return {
    url: url.href,
    transactions: () => transactions,
    close: () =>
      new Promise((resolve) => {
        for (const { socket } of all) socket.destroy();
        for (const client of clients) client.destroy();
        server.close(() => resolve());
      }),
  };
}

function openUpstream(target: URL): Promise<Upstream> {
  const socket = connect(Number(target.port), target.hostname);
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  return new Promise((resolve, reject) => {
    socket.once('close', () => reject(new Error('The server closed a connection of the pooler.')));
    const upstream: Upstream = {
      socket,
      reader: (kind) => {
        if (kind !== 'Z') return;
        upstream.reader = () => undefined;
        resolve(upstream);
      },
    };
    readMessages(
      socket,
      () => false,
      (kind, message) => upstream.reader(kind, message),
    );
    const body = Buffer.from(`user\0${target.username}\0database\0${target.pathname.slice(1)}\0\0`);
    const head = Buffer.alloc(8);
    head.writeUInt32BE(head.length + body.length, 0);
    head.writeUInt32BE(protocolVersion, 4);
    socket.write(Buffer.concat([head, body]));
  });
}

/** Splits what comes in into messages. The first message of a client has no letter. */
function readMessages(
  socket: Socket,
  isFirst: () => boolean,
  onMessage: (kind: string, message: Buffer) => void,
): void {
  let bytes = Buffer.alloc(0);
  socket.on('data', (more) => {
    bytes = Buffer.concat([bytes, more]);
    for (;;) {
      const letter = isFirst() ? 0 : 1;
      if (bytes.length < letter + 4) return;
      const end = letter + bytes.readUInt32BE(letter);
      if (bytes.length < end) return;
      const message = bytes.subarray(0, end);
      bytes = bytes.subarray(end);
      onMessage(letter === 0 ? '' : String.fromCharCode(message[0] ?? 0), message);
    }
  });
}

/** Authentication is over, and the server is ready. */
function greeting(): Buffer {
  const message = (kind: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head.write(kind, 0);
    head.writeUInt32BE(4 + body.length, 1);
    return Buffer.concat([head, body]);
  };
  return Buffer.concat([
    message('R', Buffer.alloc(4)),
    message('S', Buffer.from('client_encoding\0UTF8\0')),
    message('K', Buffer.alloc(8, 1)),
    message('Z', Buffer.from('I')),
  ]);
}
