/** Files that tools wrote, as a browser gets them: whatever their type says, nothing in them runs here. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRuntime, defineTool } from 'quittance';
import type { HttpServer } from '@quittance/server';
import { createHttpServer } from '@quittance/server';
import { openLedger } from 'quittance/ledger';
import { z } from 'zod';

const script = '<script>alert(document.domain)</script>';
const publish = defineTool({
  name: 'publish',
  input: z.object({ type: z.string() }),
  run: ({ type }, { attach }) => ({ file: attach({ mimeType: type, content: script }) }),
});

let server: HttpServer;
let idOf: (type: string) => Promise<string>;
let close: () => Promise<void>;
beforeAll(async () => {
  const ledger = await openLedger('memory:');
  const runtime = createRuntime({ tools: [publish], ledger });
  server = await createHttpServer({ ledger, runtime, port: 0, localName: 'ada' });
  let count = 0;
  idOf = async (type) => {
    const outcome = await runtime
      .turn({ sessionId: 's1' })
      .call({ id: `c${count++}`, name: 'publish', arguments: { type } });
    const { file } = ('output' in outcome ? outcome.output : {}) as { file: { $artifact: string } };
    return file.$artifact;
  };
  close = async () => {
    await server.close();
    await runtime.close();
    await ledger.close();
  };
});
afterAll(() => close());

const get = async (
  id: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }> => {
  const answer = await fetch(`${server.url}/v1/sessions/s1/artifacts/${id}`, {
    headers: { authorization: `Bearer ${server.token}`, ...headers },
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};

test.each([
  ['text/html', 'application/octet-stream'],
  ['image/svg+xml', 'application/octet-stream'],
  ['application/xhtml+xml; charset=utf-8', 'application/octet-stream'],
  ['text/javascript', 'application/octet-stream'],
  ['text/html\r\nset-cookie: a=b', 'application/octet-stream'],
  ['text/plain, text/html', 'application/octet-stream'],
  ['text/plain; charset=utf-7', 'text/plain; charset=utf-8'],
  ['TEXT/Plain', 'text/plain; charset=utf-8'],
])('a file that claims to be %j is sent as %s', async (type, sent) => {
  const { status, headers, text } = await get(await idOf(type));
  expect([status, text, headers.get('content-type')]).toEqual([200, script, sent]);
  expect(headers.get('content-disposition')).toMatch(/^attachment; filename="[\w.-]+"$/);
  expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('set-cookie')).toBeNull();
});

test('a range ends with the file, and none starts at its end', async () => {
  const id = await idOf('text/plain');
  const size = script.length;
  const piece = async (range: string): Promise<readonly [number, string | null, string]> => {
    const { status, headers, text } = await get(id, { range });
    return [status, headers.get('content-range'), status === 416 ? '' : text];
  };
  expect(await piece(`bytes=${size - 1}-${size + 9}`)).toEqual([
    206,
    `bytes ${size - 1}-${size - 1}/${size}`,
    '>',
  ]);
  expect(await piece(`bytes=-${size + 9}`)).toEqual([206, `bytes 0-${size - 1}/${size}`, script]);
  for (const range of [`bytes=${size}-`, 'bytes=2-1', 'bytes=-0', `bytes=${'9'.repeat(30)}-`])
    expect(await piece(range)).toEqual([416, `bytes */${size}`, '']);
});
