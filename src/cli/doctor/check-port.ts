/** Could `quittance serve` listen where the settings say? A server that already runs there is fine. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { isJsonObject } from '../../base/json.ts';
import type { Given } from '../command.ts';
import { readPort } from '../read-port.ts';
import { UsageError } from '../usage-error.ts';
import type { Finding } from './finding.ts';
import { fine, problem } from './finding.ts';

const answerWithinMs = 3_000;

export async function* checkPort(given: Given): AsyncGenerator<Finding> {
  // Without a port in the settings, this may be no server at all.
  if (!given.has('port')) return;
  const port = portOf(given);
  if (port === undefined || port === 0) return;
  const host = given.text('host') ?? '127.0.0.1';
  const code = await tryToListen(host, port);
  const place = `${host}, port ${port}`;
  if (code === undefined) yield fine('port', `${place} is free`);
  else if (code !== 'EADDRINUSE')
    yield problem(
      'port',
      `The server cannot listen on ${place}: ${code}.`,
      code === 'EACCES'
        ? 'Choose a port above 1023, and let a proxy listen on the other: port: 4747'
        : 'Name an address of this machine: host: 127.0.0.1',
    );
  else if (await isOurServer(host, port)) yield fine('port', `a server listens on ${place}`);
  else
    yield problem(
      'port',
      `Another program listens on ${place}.`,
      `Stop it, or choose another port. To find it: lsof -i :${port}`,
    );
}

/** A wrong port was reported with the other settings. */
function portOf(given: Given): number | undefined {
  try {
    return readPort(given.text('port'));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return undefined;
  }
}

/** The code of the error; undefined if the port is free. */
async function tryToListen(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown error';
  } finally {
    server.close();
  }
}

async function isOurServer(host: string, port: number): Promise<boolean> {
  const name =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  try {
    const answer = await fetch(`http://${name}:${port}/healthz`, {
      redirect: 'error',
      signal: AbortSignal.timeout(answerWithinMs),
    });
    const body: unknown = await answer.json();
    return isJsonObject(body) && body['status'] === 'ok' && typeof body['version'] === 'string';
  } catch {
    return false;
  }
}
