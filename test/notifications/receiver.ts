/** A server on this machine that records what it is sent, in the place of a chat program or a webhook receiver. */
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { eventually } from '../eventually.ts';

export type Received = {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly path: string;
};

export type Receiver = {
  readonly url: string;
  readonly received: readonly Received[];
  /** The status of the next answers; 200 after the last. */
  answerWith(...statuses: readonly number[]): void;
  /** Called with each message before it is answered. */
  onMessage: (message: Received) => unknown;
  /** Resolves once so many messages have arrived. */
  waitFor(count: number): Promise<readonly Received[]>;
  close(): Promise<void>;
};

export async function openReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const statuses: number[] = [];
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const message = { headers: request.headers, body, path: request.url ?? '' };
      received.push(message);
      await receiver.onMessage(message);
      response.writeHead(statuses.shift() ?? 200).end('ok');
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a server on a port has one
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}`,
    received,
    answerWith: (...given) => void statuses.push(...given),
    onMessage: () => undefined,
    waitFor: (count) =>
      eventually(() => {
        if (received.length < count) throw new Error(`${received.length} of ${count} messages arrived.`);
        return received;
      }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
