import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createGuardedFetch } from './guarded-fetch.ts';

const guardedFetch = createGuardedFetch({
  subject: 'The server',
  findProblem: () => undefined,
  forbids: () => false,
});

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

/** A server that answers every request with these bytes. */
async function answerWith(answer: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(Buffer.from(answer, 'latin1')));
    closers.push(() => socket.destroy());
  });
  closers.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const post = { method: 'POST', body: '{}' } as const;

describe('createGuardedFetch', () => {
  // An error in the handler of an answer would end the process, and a missing one would hang the caller.
  it.each([
    ['a status above 599', 'HTTP/1.1 999 Denied\r\ncontent-length: 0\r\n\r\n'],
    ['a status below 100', 'HTTP/1.1 000 None\r\ncontent-length: 0\r\n\r\n'],
    ['a switch of protocols', 'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
    ['no HTTP', 'nonsense\r\n\r\n'],
  ])('rejects an answer with %s', async (_, answer) => {
    const url = await answerWith(answer);
    await expect(guardedFetch(url, post)).rejects.toThrow(Error);
  });

  it.each(['999', '000'])('rejects the status %s even if a program replaced Response', async (status) => {
    const url = await answerWith(`HTTP/1.1 ${status} Odd\r\ncontent-length: 0\r\n\r\n`);
    const Strict = Response;
    class Lax extends Strict {
      constructor(body?: ConstructorParameters<typeof Strict>[0]) {
        super(body, { status: 200 });
      }
    }
    vi.stubGlobal('Response', Lax);
    try {
      await expect(guardedFetch(url, post)).rejects.toThrow(`status ${Number(status)}`);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it.each([
    ['an early hint', 'HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok', 200, 'ok'],
    ['control characters in the reason', 'HTTP/1.1 200 \x01\x7f\r\ncontent-length: 2\r\n\r\nok', 200, 'ok'],
    ['bytes above ASCII in the reason', 'HTTP/1.1 200 \xff\r\ncontent-length: 2\r\n\r\nok', 200, 'ok'],
    ['no content', 'HTTP/1.1 204 None\r\n\r\n', 204, ''],
  ])('reads an answer with %s', async (_, answer, status, text) => {
    const response = await guardedFetch(await answerWith(answer), post);
    expect([response.status, await response.text()]).toEqual([status, text]);
  });

  it.each([
    ['https://elsewhere.test/a?b=c', 'redirect to elsewhere.test.'],
    ['file:///etc/passwd', 'redirect to file:.'],
    [`https://${'a'.repeat(5_000)}/`, /redirect to a{90,100}[^a]/],
    ['http://[', 'redirect to no URL.'],
  ])('refuses a redirect to %s, and says so in short', async (location, words) => {
    const url = await answerWith(`HTTP/1.1 307 Moved\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`);
    await expect(guardedFetch(url, post)).rejects.toThrow(words);
  });

  it('gives up when its signal says so, while the header arrives and while the body arrives', async () => {
    const [header, body] = await Promise.all([
      answerWith('HTTP/1.1 200'),
      answerWith('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx'),
    ]);
    const ending = new AbortController();
    const waiting = guardedFetch(header, { ...post, signal: ending.signal });
    waiting.catch(() => undefined);
    const response = await guardedFetch(body, { ...post, signal: ending.signal });
    const reading = response.text();
    reading.catch(() => undefined);
    ending.abort(new Error('given up'));
    await expect(waiting).rejects.toThrow('given up');
    await expect(reading).rejects.toThrow(Error);
  });
});
