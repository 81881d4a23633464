/**
 * A `fetch` for addresses named in configurations. It checks the address of the connection that it really opens. A
 * name that changes its address after the check (DNS rebinding) therefore gains nothing. It follows redirects only
 * within an origin, so headers never reach another host.
 */
import { lookup } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import { cutText } from '../base/cut-text.ts';
import { QuittanceError } from '../base/error.ts';

/** What a `fetch` may reach, and how its errors call it. */
export type FetchGuard = {
  /** For errors, e.g. `The MCP server`. */
  readonly subject: string;
  /** Why the URL must not be used, as the end of a sentence; undefined if it may. */
  readonly findProblem: (url: URL) => string | undefined;
  /** Must no connection to this address be opened for the URL? */
  readonly forbids: (address: string, url: URL) => boolean;
  /** Resolves names; default: the resolver of the system. */
  readonly lookup?: LookupFunction;
};

const mostRedirects = 5;

export function createGuardedFetch(guard: FetchGuard): typeof fetch {
  const refused = (url: URL, why: string): QuittanceError<'config.invalid'> => refuse(guard, url, why);
  // Own connections: one that other code opened under the same name was not checked.
  const agents: Agents = {
    http: new HttpAgent({ keepAlive: true }),
    https: new HttpsAgent({ keepAlive: true }),
  };
  return async (input, init) => {
    let request = new Request(input, { ...init, redirect: 'manual' });
    // Kept for a redirect that repeats the request: the body of a request can be read once.
    const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
    for (let redirects = 0; ; redirects++) {
      const response = await send(request, body, guard, agents);
      const location = response.headers.get('location');
      if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response;
      await response.body?.cancel();
      const from = new URL(request.url);
      const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
      if (to === undefined || to.origin !== from.origin)
        throw refused(from, `answered with a redirect to ${describeGoal(to)}`);
      if (redirects === mostRedirects) throw refused(from, 'redirects in a circle');
      // Other redirects turn a request into another one, which no API means.
      if (response.status !== 307 && response.status !== 308 && request.method !== 'GET')
        throw refused(from, `answered ${request.method} with a redirect of status ${response.status}`);
      request = new Request(to.href, {
        method: request.method,
        headers: request.headers,
        signal: request.signal,
      });
    }
  };
}

/** The server wrote it, so it is cut. */
const describeGoal = (to: URL | undefined): string =>
  to === undefined ? 'no URL' : cutText(to.host === '' ? to.protocol : to.host, 100);

type Agents = { readonly http: HttpAgent; readonly https: HttpsAgent };

function send(
  request: Request,
  body: Buffer | undefined,
  guard: FetchGuard,
  agents: Agents,
): Promise<Response> {
  const url = new URL(request.url);
  const problem = guard.findProblem(url);
  if (problem !== undefined) return Promise.reject(refuse(guard, url, problem));
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const isSecure = url.protocol === 'https:';
  const start = isSecure ? requestHttps : requestHttp;
  const outgoing = start(
    url,
    {
      method: request.method,
      agent: isSecure ? agents.https : agents.http,
      headers: { ...Object.fromEntries(request.headers), ...(body && { 'content-length': body.length }) },
      signal: request.signal,
      lookup: guardLookup(url, guard),
    },
    (incoming) => {
      try {
        resolve(toResponse(incoming, request));
      } catch {
        // A status that no web response may have. Thrown here, it would end the process.
        incoming.destroy();
        reject(unusable(url, `status ${incoming.statusCode}`));
      }
    },
  );
  outgoing.on('error', (error) => reject(request.signal.aborted ? request.signal.reason : error));
  // Without this, a request that is answered with another protocol has no end.
  outgoing.on('upgrade', (_, socket) => {
    socket.destroy();
    reject(unusable(url, 'another protocol'));
  });
  outgoing.end(body);
  return promise;
}

function toResponse(incoming: IncomingMessage, request: Request): Response {
  const headers = new Headers();
  for (let index = 0; index < incoming.rawHeaders.length; index += 2)
    headers.append(incoming.rawHeaders[index] ?? '', incoming.rawHeaders[index + 1] ?? '');
  const { statusCode = 502, statusMessage = '' } = incoming;
  // Some programs replace the global class by one that takes any status, and 0 for 200.
  if (statusCode < 200 || statusCode > 599) throw new RangeError('not a status of a web response');
  const isEmpty = [204, 205, 304].includes(statusCode) || request.method === 'HEAD';
  const statusText = /^[\t\x20-\x7e\x80-\xff]*$/.test(statusMessage) ? statusMessage : '';
  const init = { status: statusCode, statusText, headers };
  const response = isEmpty
    ? new Response(null, init)
    : // The types of Node and of the web differ in what a stream may hold; these are bytes.
      new Response(Readable.toWeb(incoming) as ReadableStream<Uint8Array>, init);
  if (isEmpty) incoming.resume();
  Object.defineProperty(response, 'url', { value: request.url });
  return response;
}

const unusable = (url: URL, what: string): Error =>
  Object.assign(new Error(`${url.host} answered with ${what}.`), { code: 'ERR_UNUSABLE_ANSWER' });

/** Resolves a name and refuses it if any of its addresses is forbidden. */
function guardLookup(url: URL, guard: FetchGuard): LookupFunction {
  const { lookup: resolveName = lookup } = guard;
  return (hostname, options, callback) => {
    resolveName(hostname, { ...options, all: true }, (error, found) => {
      const addresses = typeof found === 'string' ? [{ address: found, family: 4 }] : found;
      if (error !== null) return callback(error, '');
      const bad = addresses.find(({ address }) => guard.forbids(address, url));
      const [first] = addresses;
      if (bad !== undefined || first === undefined)
        return callback(refuse(guard, url, 'has an address that must not be reached'), '');
      return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}

const refuse = ({ subject }: FetchGuard, url: URL, why: string): QuittanceError<'config.invalid'> =>
  new QuittanceError('config.invalid', `${subject} at ${url.host} is not reached: it ${why}.`);
