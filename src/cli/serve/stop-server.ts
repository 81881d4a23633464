/**
 * Stops the server in order: it says that it is not ready, waits until proxies have noticed, ends requests, then waits for
 * running calls. Held calls stay held. The wait is bounded: a call that is still running then has its intent on record, and
 * the next process recovers it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { HttpServer } from '../../http/create-http-server.ts';
import type { Runtime } from '../../runtime/create-runtime.ts';
import { duration } from '../time-text.ts';
import type { ServerLog } from './server-log.ts';

export type StopTimes = { readonly delayMs: number; readonly timeoutMs: number };

/** False if calls were still running when the time was up. */
export async function stopServer(
  server: HttpServer,
  runtime: Runtime,
  { delayMs, timeoutMs }: StopTimes,
  log: ServerLog,
): Promise<boolean> {
  server.drain();
  await log.write('info', 'server.stopping', 'Stopping. Held calls stay held.', { delayMs, timeoutMs });
  if (delayMs > 0) await pause(delayMs);
  const timer = new AbortController();
  const isOver = pause(timeoutMs, 'over' as const, { signal: timer.signal }).catch(() => 'over' as const);
  // Requests that wait for a call end at once; the calls themselves go on.
  const stopped = server.close().then(() => runtime.close());
  const first = await Promise.race([stopped.then(() => 'stopped' as const), isOver]);
  timer.abort();
  if (first === 'stopped') {
    await log.write('info', 'server.stopped', 'Stopped.');
    return true;
  }
  await log.write(
    'warn',
    'server.stop_timeout',
    `Calls were still running after ${duration(timeoutMs)}. Their intents are on record: the next process recovers them.`,
  );
  return false;
}
