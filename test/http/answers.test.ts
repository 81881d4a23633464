import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallAnswer, Problem, Readiness } from '@quittance/server';
import { toProblem } from '../../packages/server/src/http/problem.ts';
import { tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import type { TestServer } from './start-server.ts';
import { startServer } from './start-server.ts';

let app: TestServer;
beforeAll(async () => {
  app = await startServer();
});
afterAll(() => app.close());

const ask = (
  path: string,
  { method = 'GET', body, ...headers }: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(app.server.url + path, {
    method,
    headers: { authorization: `Bearer ${app.tokens.admin}`, ...headers },
    ...(body !== undefined && { body }),
  });

describe('an artifact', () => {
  let path: string;
  beforeAll(async () => {
    const { body } = await app.ask<{ outcome: { artifactId: string } }>(
      'a1',
      'read_log',
      {},
      { waitMs: 60_000 },
    );
    path = `/v1/sessions/s1/artifacts/${body.outcome.artifactId}`;
  });

  test('has an ETag that avoids sending it again', async () => {
    const etag = (await ask(path)).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w.:-]+"$/);
    expect((await ask(path, { 'if-none-match': etag })).status).toBe(304);
    expect((await ask(path, { 'if-none-match': '*' })).status).toBe(304);
    expect((await ask(path, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  test('is sent whole to a client that has pieces of another version', async () => {
    const etag = (await ask(path)).headers.get('etag') ?? '';
    const range = 'bytes=0-3';
    expect((await ask(path, { range, 'if-range': etag })).status).toBe(206);
    for (const other of ['"other"', `W/${etag}`, 'Sun, 15 Nov 2026 13:42:28 GMT'])
      expect([other, (await ask(path, { range, 'if-range': other })).status]).toEqual([other, 200]);
  });

  test('reports its size without being sent', async () => {
    const whole = await ask(path);
    const head = await ask(path, { method: 'HEAD', range: 'bytes=0-3' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const name of ['content-length', 'etag', 'accept-ranges', 'content-type'])
      expect([name, head.headers.get(name)]).toEqual([name, whole.headers.get(name)]);
  });
});

describe('the head of an answer', () => {
  test('is available alone if the answer is not a stream', async () => {
    for (const path of ['/v1/calls', '/metrics', '/healthz'])
      expect([path, (await ask(path, { method: 'HEAD' })).status]).toEqual([path, 200]);
    for (const path of ['/v1/events', '/v1/export'])
      expect([path, (await ask(path, { method: 'HEAD' })).status]).toEqual([path, 405]);
  });

  test('lists the methods of an address', async () => {
    const put = await ask('/openapi.json', { method: 'PUT' });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET']);
  });
});

describe('a body', () => {
  const body = JSON.stringify({
    sessionId: 's1',
    call: { id: 'b1', name: 'read_note', arguments: { id: '1' } },
  });

  test('may declare UTF-8 in quotes', async () => {
    const sent = { method: 'POST', body, 'content-type': 'application/json; charset="utf-8"' };
    expect((await ask('/v1/calls', sent)).status).toBe(200);
  });

  test('names resources that have an address, and people whose names differ', async () => {
    const status = async (path: string, sent: object): Promise<number> => (await app.post(path, sent)).status;
    const call = { id: 'n1', name: 'get_weather', arguments: { city: 'Bern' } };
    expect(await status('/v1/calls', { sessionId: '..', call })).toBe(400);
    expect(await status('/v1/calls', { sessionId: 's1', call: { ...call, id: '.' } })).toBe(400);
    expect(await status('/v1/calls', { sessionId: '...', call: { ...call, id: '.a' } })).toBe(200);
    for (const name of ['a\0', 'a\u001B[2K', 'a\uD800', '\n']) {
      expect(await status('/v1/calls', { sessionId: 's1', call, worker: name })).toBe(400);
      expect(await status('/v1/handoffs/claim', { toolName: 'get_weather', worker: name })).toBe(400);
      const link = { expiresInMs: 1_000, by: name };
      expect(await status('/v1/confirmations/none/link', link)).toBe(400);
      expect(await status('/v1/decisions', { token: 'x', decision: 'deny', by: name })).toBe(400);
      expect(await status('/v1/grants', { sessionId: 'a\uD800', toolName: 'get_weather' })).toBe(400);
    }
    expect(await status('/v1/handoffs/claim', { toolName: 'get_weather', worker: 'Ädä 💡' })).toBe(200);
  });

  test('has the allowed size and no more, however it is sent', async () => {
    const bodyBytes = 200;
    const other = await startServer({ limits: { bodyBytes } });
    try {
      const send = async (bytes: Uint8Array, inPieces: boolean): Promise<number> => {
        const pieces = new ReadableStream<Uint8Array>({
          start(controller) {
            for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
            controller.close();
          },
        });
        const answer = await fetch(`${other.server.url}/v1/calls`, {
          method: 'POST',
          headers: { authorization: `Bearer ${other.tokens.operator}`, 'content-type': 'application/json' },
          ...(inPieces ? { body: pieces, duplex: 'half' as const } : { body: bytes }),
        });
        return answer.status;
      };
      const whole = Buffer.from(body.padEnd(bodyBytes));
      const larger = Buffer.from(body.padEnd(bodyBytes + 1));
      for (const inPieces of [false, true])
        expect([await send(whole, inPieces), await send(larger, inPieces)]).toEqual([200, 413]);
      expect(await send(Buffer.from(body.replace('"1"', '"\u00ff"'), 'latin1'), false)).toBe(400);
    } finally {
      await other.close();
    }
  });

  test('may be omitted if every field is optional', async () => {
    const started = await ask('/v1/verify', { method: 'POST' });
    expect(started.status).toBe(202);
    const { jobId } = (await started.json()) as { jobId: string };
    await ask(`/v1/jobs/${jobId}`, { method: 'DELETE' });
    const missing = await ask('/v1/calls', { method: 'POST' });
    expect([missing.status, ((await missing.json()) as Problem).detail]).toEqual([
      400,
      expect.stringContaining('$.sessionId is required'),
    ]);
    type Posted = { post?: { requestBody?: { required: boolean } } };
    const { paths } = (await (await ask('/openapi.json')).json()) as { paths: Record<string, Posted> };
    const isNeeded = (path: string): boolean | undefined => paths[path]?.post?.requestBody?.required;
    expect(['/v1/verify', '/v1/calls', '/v1/handoffs/claim'].map(isNeeded)).toEqual([false, true, true]);
  });

  test('a body that is compressed is refused as such', async () => {
    const packed = { method: 'POST', body, 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const answer = await ask('/v1/calls', packed);
    expect([answer.status, ((await answer.json()) as Problem).detail]).toEqual([
      415,
      'Send the body as it is, without Content-Encoding.',
    ]);
  });
});

describe('numbers for Prometheus', () => {
  test('separates counters from gauges, and gives no series twice', async () => {
    for (const [index, name] of ['\uD800', '\uD801', 'a\u0001', 'a\u0002'].entries())
      await app.ask(`m${index}`, name, {});
    const { body: taken } = await app.ask<CallAnswer>('open', 'send_mail', { to: 'bob' });
    expect(taken.decision).toBe('allow');
    let page = '';
    // The page may be a moment old.
    await expect
      .poll(async () => {
        page = await (await ask('/metrics')).text();
        return page.includes('\nquittance_calls_open{tool="send_mail"} 1\n');
      })
      .toBe(true);
    expect(page.includes('\n# TYPE quittance_calls_open gauge\n')).toBe(true);
    expect(page.includes('outcome="open"')).toBe(false);
    const series = page.split('\n').flatMap((line) => /^(\w+(?:\{.*\})?) /.exec(line)?.[1] ?? []);
    expect(series.length).toBeGreaterThan(20);
    expect(series.filter((each, index) => series.indexOf(each) !== index)).toEqual([]);
  });
});

describe('the description', () => {
  test('lists every status other than refusals, and the headers that matter', async () => {
    type Operation = { responses: Record<string, unknown>; parameters?: { name: string; in: string }[] };
    const { paths } = (await (await ask('/openapi.json')).json()) as {
      paths: Record<string, { get: Operation }>;
    };
    const told = (path: string): readonly [statuses: string[], headers: string[]] => [
      Object.keys(paths[path]?.get.responses ?? {}),
      (paths[path]?.get.parameters ?? []).filter((each) => each.in === 'header').map(({ name }) => name),
    ];
    expect(told('/v1/calls')).toEqual([['200', '304', 'default'], ['If-None-Match']]);
    expect(told('/readyz')).toEqual([['200', '503', 'default'], []]);
    const artifact = '/v1/sessions/{sessionId}/artifacts/{artifactId}';
    const [statuses, headers] = told(artifact);
    expect(statuses).toEqual(['200', '206', '304', 'default']);
    expect(headers.toSorted()).toEqual(['If-None-Match', 'If-Range', 'Range']);
    for (const status of ['200', '206'])
      expect(paths[artifact]?.get.responses[status]).toMatchObject({
        content: { 'application/octet-stream': {}, 'application/json': {}, 'image/png': {} },
      });
  });

  test('has patterns that other languages can read too', async () => {
    const text = await (await ask('/openapi.json')).text();
    const patterns = [...text.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(
      ([, pattern = '']) => JSON.parse(pattern) as string,
    );
    expect(patterns.length).toBeGreaterThan(3);
    // Unicode classes have a different syntax in every language, or none.
    expect(patterns.filter((pattern) => /\\p\{|\\u\{/i.test(pattern))).toEqual([]);
  });
});

describe('a disk error', () => {
  test('is reported as such, for a retry, without its message', () => {
    const [full, writeFailed, mistake] = [13, 778, 1].map((errcode) => ({
      code: 'ERR_SQLITE_ERROR',
      errcode,
    }));
    for (const codes of [full, writeFailed, { code: 'ENOSPC' }, { code: 'EROFS' }])
      expect(toProblem(Object.assign(new Error('no: /home/ada'), codes))).toMatchObject({
        status: 503,
        code: 'ledger.unavailable',
        detail: expect.not.stringContaining('/home/ada'),
      });
    expect(toProblem(Object.assign(new Error('no'), mistake)).status).toBe(500);
  });

  test('a disk error that damages the token file lets no one in, and only the log says where it is', async () => {
    const told: unknown[] = [];
    const other = await startServer({ onError: (error) => told.push(error) });
    try {
      const path = tokenFilePath(other.ledgerPath);
      const kept = readFileSync(path);
      writeFileSync(path, '{"version": 1, "tokens": [');
      const { status, body } = await other.get<Problem>('/v1/me');
      expect([status, body.code]).toEqual([500, 'http.internal']);
      expect(body.detail).not.toContain(path);
      expect(told).toHaveLength(1);
      expect(String(told[0])).toContain(path);
      expect((await fetch(`${other.server.url}/healthz`)).status).toBe(200);
      writeFileSync(path, kept);
      expect((await other.get('/v1/me')).status).toBe(200);
    } finally {
      await other.close();
    }
  });

  test('makes the server not ready, although it lives', async () => {
    const other = await startServer();
    try {
      expect((await other.get<Readiness>('/readyz')).body.status).toBe('ready');
      renameSync(other.ledgerPath, `${other.ledgerPath}.gone`);
      const { status, body, headers } = await other.get<Readiness>('/readyz');
      expect([status, headers.get('cache-control')]).toEqual([503, 'no-store']);
      expect(body.checks.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual(['disk']);
      expect(JSON.stringify(body)).not.toContain(other.ledgerPath);
      expect((await other.get('/healthz')).status).toBe(200);
      renameSync(`${other.ledgerPath}.gone`, other.ledgerPath);
    } finally {
      await other.close();
    }
  });
});

test('an internal error goes to the log, and the client learns nothing about it', () => {
  const inside = new Error('cannot open /home/jwyxqthlkmvz/.ssh/id_ed25519');
  const told = toProblem(inside);
  expect([told.status, told.code]).toEqual([500, 'http.internal']);
  expect(JSON.stringify(told)).not.toContain('jwyxqthlkmvz');
});

test('only files of a console are served from its folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-console-'));
  writeFileSync(join(folder, '..', `${basename(folder)}.txt`), 'outside');
  mkdirSync(join(folder, 'assets'));
  for (const name of ['index.html', 'assets/app-0123abcd.js', '.env', 'assets/app.js.map', 'notes.md', 'key'])
    writeFileSync(join(folder, name), 'inside');
  symlinkSync(join(folder, '..', `${basename(folder)}.txt`), join(folder, 'link.txt'));
  const other = await startServer({ consoleFolder: folder });
  try {
    const get = async (path: string): Promise<readonly [number, string]> => {
      const answer = await fetch(`${other.server.url}/${path}`);
      return [answer.status, await answer.text()];
    };
    for (const path of ['', 'index.html', 'assets/app-0123abcd.js', 'calls/any'])
      expect([path, ...(await get(path))]).toEqual([path, 200, 'inside']);
    for (const path of ['.env', 'assets/app.js.map', 'notes.md', 'link.txt', 'none.js'])
      expect([path, (await get(path))[0]]).toEqual([path, 404]);
  } finally {
    await other.close();
    rmSync(folder, { recursive: true });
    rmSync(`${folder}.txt`);
  }
});

test('a server that listens on all interfaces answers on this machine under its own names only', async () => {
  const other = await startServer({ host: '0.0.0.0' });
  try {
    const status = async (host: string): Promise<number> =>
      (await other.server.fetch(new Request(`http://${host}/openapi.json`, { headers: { host } }))).status;
    const { port, url } = other.server;
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect(await status(`localhost:${port}`)).toBe(200);
    expect(await status(`127.0.0.1:${port}`)).toBe(200);
    expect(await status(`evil.example:${port}`)).toBe(421);
  } finally {
    await other.close();
  }
});

test('probes are answered under any address of the server, and under no other name', async () => {
  const other = await startServer();
  try {
    const status = async (host: string, path: string, method = 'GET'): Promise<number> =>
      (await other.server.fetch(new Request(`http://${host}${path}`, { method, headers: { host } }))).status;
    for (const host of ['10.1.2.3:4747', '10.1.2.3', '[fd00::1]:4747']) {
      for (const path of ['/healthz', '/readyz']) expect(await status(host, path)).toBe(200);
      expect(await status(host, '/healthz', 'POST')).toBe(421);
      for (const path of ['/metrics', '/v1/calls', '/', '/login', '/healthz/', '/openapi.json'])
        expect([path, await status(host, path)]).toEqual([path, 421]);
    }
    for (const host of ['evil.example', '10.1.2.3.evil.example:4747', 'localhost'])
      expect([host, await status(host, '/readyz')]).toEqual([host, 421]);
  } finally {
    await other.close();
  }
});

/** An address under which other machines can reach this one, if any. */
const outside = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.internal === false && each.family === 'IPv4')?.address;

test.skipIf(outside === undefined)(
  'a server that listens for others does not answer to the local names of this machine',
  async () => {
    const other = await startServer({ host: outside ?? '' });
    try {
      const status = async (host: string): Promise<number> =>
        (await other.server.fetch(new Request(`http://${host}/openapi.json`, { headers: { host } }))).status;
      const { port } = other.server;
      expect(await status(`${outside ?? ''}:${port}`)).toBe(200);
      for (const name of ['localhost', '127.0.0.1', '[::1]'])
        expect(await status(`${name}:${port}`)).toBe(421);
    } finally {
      await other.close();
    }
  },
);
