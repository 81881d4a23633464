/**
 * A free port that stays free while nothing listens on it, for servers that start later or start again.
 *
 * A port that the system chooses does not: the system gives it to the next server or connection that asks, of any
 * program. A connection to such a port can even get that port as its own, and reach itself. So this chooses below the
 * range of the system, and each process has its own ports there.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';

const [first, perProcess, processes] = [20_000, 16, 700];
let tried = 0;

export async function findPort(): Promise<number> {
  for (;;) {
    const port = first + (process.pid % processes) * perProcess + (tried++ % perProcess);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve, reject) => {
      server.once('listening', () => resolve(true));
      server.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'EADDRINUSE' && tried < 10 * perProcess ? resolve(false) : reject(error),
      );
      server.listen(port, '127.0.0.1');
    });
    if (!isFree) continue;
    const closed = once(server, 'close');
    server.close();
    await closed;
    return port;
  }
}
