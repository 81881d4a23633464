/** The console is packed compressed: browsers that accept that get it so, and others get it as it is. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { createHttpServer } from '@quittance/server';
import type { HttpServer } from '@quittance/server';
import { createMemoryLedger } from 'quittance/ledger';
import { createRuntime } from 'quittance';
import { afterAll, beforeAll, expect, test } from 'vitest';

const script = `console.log(${JSON.stringify('long '.repeat(1_000))});`;
const folder = mkdtempSync(join(tmpdir(), 'quittance-console-files-'));
let server: HttpServer;
beforeAll(async () => {
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html>');
  writeFileSync(join(folder, 'assets/plain-12345678.js'), script);
  writeFileSync(join(folder, 'assets/packed-12345678.js.br'), brotliCompressSync(script));
  const ledger = createMemoryLedger();
  const runtime = createRuntime({ tools: [], ledger });
  server = await createHttpServer({ ledger, runtime, port: 0, consoleFolder: folder });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const get = (
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number | undefined; headers: IncomingHttpHeaders; body: Buffer }> =>
  new Promise((resolve, reject) => {
    request(server.url + path, { headers }, (answer) => {
      buffer(answer).then(
        (body) => resolve({ status: answer.statusCode, headers: answer.headers, body }),
        reject,
      );
    })
      .on('error', reject)
      .end();
  });

test.each(['br', 'gzip, br', 'gzip;q=1.0, br;q=0.5', 'BR'])(
  'a packed file is sent as it is packed to who accepts %s',
  async (accepted) => {
    const { status, headers, body } = await get('/assets/packed-12345678.js', {
      'accept-encoding': accepted,
    });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-encoding': 'br',
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: expect.stringContaining('accept-encoding') as string,
    });
    expect(body.byteLength).toBeLessThan(script.length / 10);
    expect(brotliDecompressSync(body).toString()).toBe(script);
  },
);

test.each(['', 'gzip', 'br;q=0', 'br; q=0.0', 'brotli', 'gzip, abr'])(
  'it is sent unpacked to who accepts "%s"',
  async (accepted) => {
    const { headers, body } = await get('/assets/packed-12345678.js', { 'accept-encoding': accepted });
    expect(headers['content-encoding']).toBeUndefined();
    expect(body.toString()).toBe(script);
  },
);

test('both forms have their own tag, and a file that was not packed has one form', async () => {
  const tagOf = async (path: string, accepted: string): Promise<string> =>
    (await get(path, { 'accept-encoding': accepted })).headers.etag ?? '';
  const path = '/assets/packed-12345678.js';
  const tags = [await tagOf(path, 'br'), await tagOf(path, 'gzip')];
  expect(new Set(tags).size).toBe(2);
  const again = { 'accept-encoding': 'br', 'if-none-match': tags[0] ?? '' };
  expect((await get(path, again)).status).toBe(304);
  expect((await get('/assets/packed-12345678.js.br')).status).toBe(404);
  const plain = await get('/assets/plain-12345678.js', { 'accept-encoding': 'br' });
  expect([plain.headers['content-encoding'], plain.body.toString()]).toEqual([undefined, script]);
});
