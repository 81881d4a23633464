/**
 * One PostgreSQL server for all test files of a run. Vitest calls this before any test runs. The server starts when the
 * first file asks for it, so a run without such files does not pay for it.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { TestPostgres } from './start-postgres.ts';

/** Names the port of the process that starts the server. */
export const starterVariable = 'QUITTANCE_TEST_POSTGRES_STARTER';

export default async function setup(): Promise<() => Promise<void>> {
  if (process.env['QUITTANCE_TEST_POSTGRES'] !== undefined) return () => Promise.resolve();
  let server: Promise<TestPostgres> | undefined;
  const starter = createServer((socket) => {
    server ??= start();
    server.then(
      ({ url }) => socket.end(url),
      (error: unknown) => socket.end(`failed: ${String(error)}`),
    );
    socket.on('error', () => undefined);
  });
  starter.listen(0, '127.0.0.1');
  await once(starter, 'listening');
  starter.unref();
  const address = starter.address();
  process.env[starterVariable] = String(typeof address === 'object' ? address?.port : '');
  return async () => {
    delete process.env[starterVariable];
    starter.close();
    await (await server)?.stop();
  };
}

/** Loads the package only now, because it installs handlers of signals. */
async function start(): Promise<TestPostgres> {
  const exits: NodeJS.EventEmitter = process;
  const events = ['beforeExit', 'exit'];
  const before = new Set(events.flatMap((event) => exits.listeners(event)));
  const { startPostgres } = await import('./start-postgres.ts');
  // The package would end the run with code 0, even if tests failed. Without that its other handler fails at the exit,
  // which ends the run with code 1, even if all tests passed. The handlers of signals stay.
  for (const event of events)
    for (const listener of exits.listeners(event))
      if (!before.has(listener)) exits.off(event, listener as () => void);
  return startPostgres();
}
