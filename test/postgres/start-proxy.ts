/** Stands between a ledger and a PostgreSQL server: it can cut connections, drop answers and list statements. */
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

export type PgProxy = {
  readonly url: string;
  /** The texts of statements that passed, or the names of those that the server has kept, oldest first. */
  readonly statements: string[];
  /** How many connections were made so far. */
  countConnections(): number;
  /** Cuts a connection as soon as the server answers. */
  dropAnswers(): void;
  passAnswers(): void;
  /** Cuts all connections. New ones are accepted. */
  cut(): void;
  /** Cuts all connections and refuses new ones. */
  refuse(): void;
  /** Accepts connections again. */
  accept(): void;
  /** Passes nothing in either direction, as a network that drops packets. */
  stall(): void;
  /** Passes what waited. */
  resume(): void;
  /** Cuts the connection whose next statement contains the text, once so many bytes of it have passed. */
  cutWithin(text: string, bytes: number): void;
  /** Cuts the connection once the server has sent so many bytes of the answer to that statement. */
  cutAnswerTo(text: string, bytes: number): void;
  /** Changes a word of every statement into another one of the same length. Undefined: no longer. */
  replace(words: readonly [from: string, to: string] | undefined): void;
  close(): Promise<void>;
};

type Cut = { readonly text: string; readonly bytes: number; readonly side: 'statement' | 'answer' };

export async function startProxy(serverUrl: string): Promise<PgProxy> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const statements: string[] = [];
  let connections = 0;
  let isDropping = false;
  let isRefusing = false;
  let isStalled = false;
  let planned: Cut | undefined;
  let replaced: readonly [from: string, to: string] | undefined;

  const server = createServer((client) => {
    connections++;
    if (isRefusing) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    let answerLeft: number | undefined;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      if (isStalled) socket.pause();
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes) => {
      const at = replaced === undefined ? -1 : bytes.indexOf(replaced[0]);
      if (at !== -1) bytes.write(replaced?.[1] ?? '', at);
      for (const text of textsIn(bytes)) statements.push(text);
      if (planned !== undefined && bytes.includes(planned.text)) {
        const { side, bytes: many } = planned;
        planned = undefined;
        if (side === 'statement') {
          // The first bytes reach the server, the rest never does.
          upstream.write(bytes.subarray(0, many), () => upstream.destroy());
          return;
        }
        answerLeft = many;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (isDropping || answerLeft === 0) client.destroy();
      else if (answerLeft === undefined) client.write(bytes);
      else client.write(bytes.subarray(0, answerLeft), () => client.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(serverUrl);
  url.port = String((server.address() as AddressInfo).port); // a TCP server has a port
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    statements,
    countConnections: () => connections,
    dropAnswers: () => {
      isDropping = true;
    },
    passAnswers: () => {
      isDropping = false;
    },
    cut,
    refuse: () => {
      isRefusing = true;
      cut();
    },
    accept: () => {
      isRefusing = false;
    },
    stall: () => {
      isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    resume: () => {
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
    cutWithin: (text, bytes) => {
      planned = { text, bytes, side: 'statement' };
    },
    cutAnswerTo: (text, bytes) => {
      planned = { text, bytes, side: 'answer' };
    },
    replace: (words) => {
      replaced = words;
    },
    close: () =>
      new Promise((resolve) => {
        cut();
        server.close(() => resolve());
      }),
  };
}

/** The texts of the Parse messages at the beginning of these bytes. A message is a letter, its length, its body. */
function textsIn(bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at + 5 <= bytes.length;) {
    const end = at + 1 + bytes.readUInt32BE(at + 1);
    const second = bytes.indexOf(0, at + 5) + 1;
    const text = bytes.toString('utf8', second, bytes.indexOf(0, second));
    // The text of a statement, or the name of one that the server has kept.
    if (bytes[at] === 'P'.charCodeAt(0)) texts.push(text);
    else if (bytes[at] === 'B'.charCodeAt(0) && text !== '' && texts.length === 0) texts.push(text);
    at = end;
  }
  return texts;
}
