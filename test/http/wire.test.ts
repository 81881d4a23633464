import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Problem } from '@quittance/server';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';

let app: TestServer;
const told: unknown[] = [];
beforeAll(async () => {
  app = await startServer({
    onError: (error) => told.push(error),
    limits: { timeouts: { headersMs: 300, requestMs: 600 } },
  });
});
afterAll(() => app.close());

/** Sends these bytes, more after an answer, and reads until the server ends the connection. */
const send = (bytes: string, andThen?: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(app.server.port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.setEncoding('utf8').on('data', (piece: string) => {
      if (text === '' && andThen !== undefined) socket.write(andThen);
      text += piece;
    });
    socket.on('error', reject).on('close', () => resolve(text));
  });

const host = (): string => `Host: 127.0.0.1:${app.server.port}\r\n`;
const token = (): string => `Authorization: Bearer ${app.tokens.operator}\r\n`;
const json = 'Content-Type: application/json\r\n';

describe('a client that reads nothing', () => {
  const asked = 300;
  const sockets = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  let slow: TestServer;
  beforeAll(async () => {
    slow = await startServer({ limits: { stallMs: 300 } });
  });
  afterAll(() => slow.close());

  test('a client that reads nothing of an answer is cut off', async () => {
    const one = `GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1:${slow.server.port}\r\n\r\n`;
    const socket = connect(slow.server.port, '127.0.0.1', () => socket.write(one.repeat(asked)));
    socket.pause();
    await new Promise((resolve) => socket.once('connect', resolve));
    // A client that does not read does not notice the end of its connection either. Both ends are in this
    // process.
    const open = sockets();
    await expect.poll(() => sockets() < open).toBe(true);
    let text = '';
    await new Promise((resolve) =>
      socket
        .on('data', (piece) => (text += piece.toString('latin1')))
        .on('error', () => undefined)
        .on('close', resolve)
        .resume(),
    );
    expect(text.split('HTTP/1.1 200 OK').length - 1).toBeLessThan(asked);
  });

  test('because there is nothing yet is waited for', async () => {
    const { body } = await slow.ask<{ decision: string }>(
      'w1',
      'delete_file',
      { path: '/a' },
      { waitMs: 1_500 },
    );
    expect(body.decision).toBe('held');
  });
});

describe('input that is not a request', () => {
  test.each<[what: string, status: number, bytes: () => string]>([
    ['no HTTP', 400, () => 'HELLO\r\n\r\n'],
    ['no host', 400, () => 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['no host, as in the old days', 400, () => 'GET /healthz HTTP/1.0\r\n\r\n'],
    [
      'a host with a name before it',
      400,
      () => `GET /healthz HTTP/1.1\r\nHost: a@127.0.0.1:${app.server.port}\r\nConnection: close\r\n\r\n`,
    ],
    ['a backslash', 400, () => `GET /\\evil HTTP/1.1\r\n${host()}Connection: close\r\n\r\n`],
    ['an asterisk', 400, () => `OPTIONS * HTTP/1.1\r\n${host()}Connection: close\r\n\r\n`],
    [
      'another server’s address',
      421,
      () => `GET http://evil.example/healthz HTTP/1.1\r\n${host()}Connection: close\r\n\r\n`,
    ],
    [
      'two lengths',
      400,
      () => `POST /v1/calls HTTP/1.1\r\n${host()}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `,
    ],
    [
      'a length and pieces',
      400,
      () =>
        `POST /v1/calls HTTP/1.1\r\n${host()}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /`,
    ],
    ['a head without end', 431, () => `GET /healthz HTTP/1.1\r\n${host()}X: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['a head that never comes', 408, () => `GET /healthz HTTP/1.1\r\n${host()}X: `],
    [
      'a body that never comes',
      408,
      () => `POST /v1/calls HTTP/1.1\r\n${host()}${token()}${json}Content-Length: 9\r\n\r\n{`,
    ],
  ])('%s is refused with %i like any other', async (_, status, bytes) => {
    const answer = await send(bytes());
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    for (const header of [
      /^content-type: application\/problem\+json/im,
      /^content-security-policy: default-src 'none'/im,
      /^x-content-type-options: nosniff/im,
      /^cache-control: no-store/im,
    ])
      expect(head).toMatch(header);
    const problem = JSON.parse(/\{.*\}/s.exec(body)?.[0] ?? '') as Problem;
    expect([problem.status, problem.detail.length > 20]).toEqual([status, true]);
  });

  test('is not answered in the middle of another answer', async () => {
    const follow = `GET /v1/events HTTP/1.1\r\n${host()}Authorization: Bearer ${app.tokens.viewer}\r\n\r\n`;
    const answer = await send(follow, 'HELLO\r\n\r\n');
    expect(answer).not.toContain('problem+json');
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('input that is not a request with an unknown expectation is answered anyway', async () => {
    const answer = await send(`GET /healthz HTTP/1.1\r\n${host()}Expect: tea\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('input that is not a request that ends in the middle of its body is the client’s fault only', async () => {
    const { port } = app.server;
    const counted = 'requests_total{method="POST",route="/v1/calls",status="400"}';
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(`POST /v1/calls HTTP/1.1\r\n${host()}${token()}${json}Content-Length: 9\r\n\r\n{`);
        setImmediate(() => socket.destroy());
      });
      socket.on('close', () => resolve());
    });
    await expect.poll(async () => (await app.get<string>('/metrics')).body.includes(counted)).toBe(true);
    expect(told).toEqual([]);
  });
});
