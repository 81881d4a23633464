import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createCheckedFetch, createServerFetch } from '../../../packages/mcp/src/config/checked-fetch.ts';
import { findServerUrlProblem } from '../../../packages/mcp/src/config/server-url.ts';
import { isForbiddenAddress } from '../../../packages/quittance/src/outbound/address.ts';

const running = new Set<Server>();
afterEach(() => {
  for (const server of running) server.closeAllConnections();
  for (const server of running) server.close();
  running.clear();
});

async function listen(answer: RequestListener): Promise<number> {
  const server = createServer(answer);
  running.add(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Answers every name with these addresses. */
const resolveTo =
  (...addresses: string[]): LookupFunction =>
  (_, options, callback) => {
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    if (options.all === true) callback(null, found);
    else callback(null, found[0]?.address ?? '', found[0]?.family);
  };

describe('a URL of a configuration', () => {
  test.each([
    'http://169.254.169.254/latest/meta-data',
    'https://169.254.170.2/v2/credentials',
    'http://0xa9fea9fe/',
    'http://2852039166/',
    'http://169.254.43518/',
    'https://[fe80::1]/',
    'https://[::ffff:169.254.169.254]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[::a9fe:a9fe]/',
    'https://[64:ff9b::a9fe:a9fe]/',
    'https://[2002:a9fe:a9fe::]/',
    'https://[fd00:ec2::254]/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'http://METADATA.google.internal./',
    'https://100.100.100.200/',
    'https://168.63.129.16/',
    'https://0.0.0.0/',
    'https://[::]/',
    'https://224.0.0.1/',
  ])('cannot reach %s', (url) => {
    expect(findServerUrlProblem(new URL(url), { allowHttp: [new URL(url).hostname] })).toContain(
      'metadata service or a link-local address',
    );
  });

  test.each([
    ['http://example.com/mcp', 'unencrypted'],
    ['http://10.0.0.1/mcp', 'unencrypted'],
    ['http://127.0.0.1.example.com/', 'unencrypted'],
    ['http://localhost.example.com/', 'unencrypted'],
    ['https://user:pass@example.com/', 'user name or password'],
    ['file:///etc/passwd', 'must start with'],
    ['javascript:alert(1)', 'must start with'],
  ])('is refused: %s', (url, why) => {
    expect(findServerUrlProblem(new URL(url))).toContain(why);
  });

  test.each([
    'https://example.com/mcp',
    'https://10.0.0.1/mcp',
    'http://localhost:3000/mcp',
    'http://127.0.0.1:3000/mcp',
    'http://[::1]:3000/mcp',
    'http://app.localhost/mcp',
  ])('is accepted: %s', (url) => {
    expect(findServerUrlProblem(new URL(url))).toBeUndefined();
  });

  test('a URL of a configuration over plain http needs its host allowed', () => {
    expect(
      findServerUrlProblem(new URL('http://intranet:8080/mcp'), { allowHttp: ['Intranet'] }),
    ).toBeUndefined();
  });

  test('a name is not an address', () => {
    expect(isForbiddenAddress('169.254.169.254.example.com')).toBe(false);
  });
});

describe('the connection', () => {
  test('is refused for a name with a forbidden address, also if another address is fine', async () => {
    for (const addresses of [
      ['169.254.169.254'],
      ['127.0.0.1', '169.254.169.254'],
      ['::ffff:a9fe:a9fe'],
      [],
    ]) {
      const guarded = createCheckedFetch({ lookup: resolveTo(...addresses) });
      await expect(guarded('https://innocent.example/mcp')).rejects.toThrow('must not be reached');
    }
  });

  test('the connection over plain http is refused if a local name has an address elsewhere', async () => {
    const guarded = createCheckedFetch({ lookup: resolveTo('93.184.216.34') });
    await expect(guarded('http://localhost/mcp')).rejects.toThrow('must not be reached');
  });

  test('uses the address that was checked, although the name changes it (DNS rebinding)', async () => {
    const port = await listen((_, response) =>
      response.writeHead(200, { connection: 'close' }).end('checked'),
    );
    let asked = 0;
    const rebinding: LookupFunction = (name, options, callback) =>
      resolveTo(asked++ === 0 ? '127.0.0.1' : '169.254.169.254')(name, options, callback);
    const guarded = createCheckedFetch({ lookup: rebinding, allowHttp: ['rebind.example'] });
    expect(await (await guarded(`http://rebind.example:${port}/`)).text()).toBe('checked');
    expect(asked).toBe(1);
    await expect(guarded(`http://rebind.example:${port}/again`)).rejects.toThrow('must not be reached');
  });

  test('the connection of a server follows a redirect only within its origin, and never with its secret elsewhere', async () => {
    const seen: (string | undefined)[] = [];
    const other = await listen((request, response) => {
      seen.push(request.headers.authorization);
      response.end();
    });
    const port = await listen((request, response) => {
      const to: Record<string, string> = {
        '/out': `http://127.0.0.1:${other}/`,
        '/meta': 'http://169.254.169.254/latest',
        '/file': 'file:///etc/passwd',
        '/circle': '/circle',
        '/in': '/end',
      };
      if (request.url === '/end') {
        request.pipe(response);
        return;
      }
      response.writeHead(307, { location: to[request.url ?? ''] }).end();
    });
    const url = (path: string): URL => new URL(`http://127.0.0.1:${port}${path}`);
    const guarded = createServerFetch({ type: 'http', url: url('/'), headers: {} });
    const headers = { authorization: 'Bearer secret' };
    for (const path of ['/out', '/meta', '/file'])
      await expect(guarded(url(path), { headers })).rejects.toThrow('redirect to');
    await expect(guarded(url('/circle'))).rejects.toThrow('in a circle');
    expect(seen).toEqual([]);
    const answer = await guarded(url('/in'), { method: 'POST', body: 'again', headers });
    expect(await answer.text()).toBe('again');
  });

  test('streams an answer and stops it when it is aborted', async () => {
    let closed: (() => void) | undefined;
    const ended = new Promise<void>((resolve) => (closed = resolve));
    const port = await listen((request, response) => {
      request.on('close', () => closed?.());
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
    });
    const stop = new AbortController();
    const answer = await createCheckedFetch()(`http://127.0.0.1:${port}/`, { signal: stop.signal });
    const reader = answer.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: 1\n\n');
    stop.abort();
    await expect(reader?.read()).rejects.toThrow('abort');
    await ended;
  });

  test('keeps status, headers and empty answers', async () => {
    const port = await listen((_, response) => response.writeHead(204, { 'mcp-session-id': 's1' }).end());
    const answer = await createCheckedFetch()(`http://127.0.0.1:${port}/`, { method: 'DELETE' });
    expect([answer.status, answer.headers.get('mcp-session-id'), answer.body]).toEqual([204, 's1', null]);
  });
});
