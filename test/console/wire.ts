/** A connection between a browser and the server that can be cut and restored. */
import { createServer, connect } from 'node:net';
import type { Socket } from 'node:net';

export type Wire = {
  /** `127.0.0.1:<port>`, to be allowed as a host. */
  readonly host: string;
  readonly url: string;
  /** Sets its target. */
  lead(port: number): void;
  /** Ends every connection; new ones are refused. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
};

export async function openWire(): Promise<Wire> {
  let target = 0;
  let isCut = false;
  const ends = new Set<Socket>();
  const keep = (socket: Socket): void => {
    ends.add(socket);
    socket.once('close', () => ends.delete(socket));
    socket.on('error', () => socket.destroy());
  };
  const server = createServer((near) => {
    keep(near);
    if (isCut) return void near.destroy();
    const far = connect(target, '127.0.0.1');
    keep(far);
    near.pipe(far);
    far.pipe(near);
    near.once('close', () => far.destroy());
    far.once('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The wire has no port.');
  const host = `127.0.0.1:${address.port}`;
  const cut = (): void => {
    isCut = true;
    for (const socket of ends) socket.destroy();
  };
  return {
    host,
    url: `http://${host}`,
    lead: (port) => {
      target = port;
    },
    cut,
    mend: () => {
      isCut = false;
    },
    close: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
