import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHostJudge, createProxy } from './proxy.ts';

const rule = (allowed: readonly string[], denied: readonly string[] = []) => ({
  ruleId: 'net',
  allowed,
  denied,
});

describe('a host', () => {
  const judge = createHostJudge([rule(['*.example.com', 'git.example.org:22'], ['secret.example.com'])]);

  test.each([
    ['api.example.com', 443, true],
    ['api.example.com', 80, true],
    ['API.Example.COM.', 443, true],
    ['api.example.com', 22, false],
    ['git.example.org', 22, true],
    ['git.example.org', 443, false],
    ['secret.example.com', 443, false],
    ['example.com', 443, false],
    ['api.example.com.evil.org', 443, false],
    ['api.example.com@evil.org', 443, false],
    ['', 443, false],
  ])('%s, port %d: allowed is %s', (host, port, expected) => {
    expect(judge.mayName(host, port)).toBe(expected);
  });

  test('must be allowed by every rule with domains, and none is allowed without a rule', () => {
    const both = createHostJudge([rule(['*']), rule(['a.example'])]);
    expect([both.mayName('a.example', 443), both.mayName('b.example', 443)]).toEqual([true, false]);
    expect(createHostJudge([]).mayName('a.example', 443)).toBe(false);
  });
});

describe('an address', () => {
  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '192.168.0.1',
    '169.254.169.254',
    '100.100.100.200',
    '0.0.0.0',
    '::1',
    'fd00::1',
    'fe80::1',
    '::ffff:127.0.0.1',
  ])('%s is refused where every host is allowed', (address) => {
    expect(createHostJudge([rule(['*'])]).mayReach(address, 80)).toBe(false);
  });

  test('an address that is private is allowed by an entry that is exactly the address, with its port', () => {
    const judge = createHostJudge([rule(['10.1.2.3:8080', '[::1]:9000', '127.0.0.[0-9]'])]);
    expect([judge.mayReach('10.1.2.3', 8080), judge.mayReach('10.1.2.3', 80)]).toEqual([true, false]);
    expect(judge.mayReach('::1', 9000)).toBe(true);
    expect(judge.mayReach('127.0.0.1', 80)).toBe(false);
  });

  test('an address without a port in its entry is allowed on web ports only', () => {
    const judge = createHostJudge([rule(['127.0.0.1', 'app.example:8080'])]);
    expect([80, 443, 8080].map((port) => judge.mayReach('127.0.0.1', port))).toEqual([true, true, false]);
  });

  test('an address that a rule denies is refused behind any name', () => {
    expect(createHostJudge([rule(['*'], ['93.184.216.34'])]).mayReach('93.184.216.34', 443)).toBe(false);
    expect(createHostJudge([rule(['*'])]).mayReach('93.184.216.34', 443)).toBe(true);
  });
});

describe('the proxy', () => {
  let server: Server;
  let port: number;
  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () =>
        response.end(
          `${request.method} ${request.url} ${request.headers.host} ${request.headers['proxy-authorization']} ${body}`,
        ),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port; // it listens on a port
  });
  afterAll(() => server.close());

  /** Sends a text to a proxy with these entries, and returns everything it answers until it closes. */
  async function send(
    entries: readonly string[],
    text: string,
  ): Promise<{ answer: string; reached: string[]; refused: string[] }> {
    const [reached, refused]: [string[], string[]] = [[], []];
    const proxy = createProxy({
      rules: [rule(entries)],
      onReached: (each) => reached.push(each),
      onRefused: (each) => refused.push(each),
    });
    const listener = createTcpServer((socket) => proxy.accept(socket)).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const client = connect((listener.address() as AddressInfo).port, '127.0.0.1'); // it listens on a port
    let answer = '';
    client.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    client.write(text);
    await once(client, 'close');
    proxy.close();
    listener.close();
    return { answer, reached, refused };
  }

  test('forwards a request to an allowed address, without headers for the proxy', async () => {
    const { answer, reached } = await send(
      [`127.0.0.1:${port}`],
      `POST http://127.0.0.1:${port}/a?b HTTP/1.1\r\nHost: other.example\r\nProxy-Authorization: Basic x\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi`,
    );
    expect(answer).toContain(`POST /a?b 127.0.0.1:${port} undefined hi`);
    expect(reached).toEqual([`127.0.0.1:${port}`]);
  });

  test('makes a tunnel to an allowed address', async () => {
    const { answer } = await send(
      [`127.0.0.1:${port}`],
      `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\nGET /in HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/200 Connection Established[^]*GET \/in t/);
  });

  test.each([
    [
      'CONNECT to loopback where every host is allowed',
      ['*', '*:1-'],
      (at: number) => `CONNECT 127.0.0.1:${at} HTTP/1.1\r\n\r\n`,
    ],
    [
      'CONNECT to a name that leads to loopback',
      ['localhost', 'localhost:0'],
      () => `CONNECT localhost:443 HTTP/1.1\r\n\r\n`,
    ],
    ['CONNECT without a port', ['*'], () => `CONNECT example.com HTTP/1.1\r\n\r\n`],
    [
      'a request for another host',
      ['a.example'],
      () => `GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`,
    ],
    [
      'a request that names no host',
      ['*'],
      () => `GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`,
    ],
    [
      'another protocol',
      ['*'],
      () => `GET file:///etc/passwd HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    ],
  ])('refuses %s', async (_, entries, text) => {
    const { answer, reached } = await send(entries, text(port));
    expect(answer).toMatch(/^HTTP\/1\.1 403/);
    expect(reached).toEqual([]);
  });

  test.each([
    ['a trailer that does not fit', 'HTTP/1.1 200 OK\r\nTrailer: X\r\nContent-Length: 3\r\n\r\nabc', 200],
    ['the status 099', 'HTTP/1.1 099 X\r\nContent-Length: 3\r\n\r\nabc', 502],
    ['the status 000', 'HTTP/1.1 000 X\r\nContent-Length: 3\r\n\r\nabc', 502],
    ['the status 600', 'HTTP/1.1 600 X\r\nContent-Length: 3\r\n\r\nabc', 502],
    ['another protocol', 'HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc', 502],
    [
      'headers of the connection',
      'HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: hop\r\nKeep-Alive: hop\r\nProxy-Authenticate: hop\r\nContent-Length: 3\r\n\r\nabc',
      200,
    ],
  ])('survives an answer with %s, and passes on nothing of the connection', async (_, answered, status) => {
    const host = createTcpServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(answered, 'latin1'));
    }).listen(0, '127.0.0.1');
    await once(host, 'listening');
    const at = `127.0.0.1:${(host.address() as AddressInfo).port}`; // it listens on a port
    const { answer } = await send([at], `GET http://${at}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    host.close();
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).not.toMatch(/hop|trailer/i);
    expect(answer.includes('abc')).toBe(status === 200);
  });

  test('ends a call whose frames are too large or too many', async () => {
    const frame = (id: number, length: number): Buffer => {
      const header = Buffer.alloc(8 + Math.min(length, 4));
      header.writeUInt32BE(id, 0);
      header.writeUInt32BE(length, 4);
      return header;
    };
    for (const bytes of [
      frame(1, 2 ** 31),
      Buffer.concat(Array.from({ length: 600 }, (_, id) => frame(id + 1, 4))),
    ]) {
      const proxy = createProxy({
        rules: [rule(['*'])],
        onReached: () => undefined,
        onRefused: () => undefined,
      });
      const bus = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
      const abused = new Promise<string>((resolve) => proxy.serve(bus, () => resolve('ended')));
      bus.push(bytes);
      expect(await abused).toBe('ended');
      proxy.close();
    }
  });
});
