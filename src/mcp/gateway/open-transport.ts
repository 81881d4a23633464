import type { AuthProvider, Transport } from '@modelcontextprotocol/client';
import { SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { ServerEntry } from '../config/server-entry.ts';
import { mostMessageBytes, useLineBuffer } from './line-buffer.ts';

/**
 * A new connection to a server: its process, or its address. A process gets the environment that its entry names, and
 * the few variables that every program needs, such as PATH.
 */
export function openTransport(
  entry: ServerEntry,
  {
    fetch,
    auth,
    onLogLine,
  }: {
    readonly fetch: typeof globalThis.fetch;
    readonly auth: AuthProvider | undefined;
    readonly onLogLine: (line: string) => void;
  },
): Transport {
  switch (entry.type) {
    case 'stdio': {
      const transport = new StdioClientTransport({
        command: entry.command,
        args: [...entry.args],
        env: { ...entry.env },
        stderr: 'pipe',
        maxBufferSize: mostMessageBytes,
        ...(entry.cwd !== undefined && { cwd: entry.cwd }),
      });
      useLineBuffer(transport, mostMessageBytes);
      transport.stderr?.on('data', (chunk: unknown) => {
        for (const line of String(chunk).split('\n')) if (line.trim() !== '') onLogLine(line);
      });
      return transport;
    }
    case 'http':
      return new StreamableHTTPClientTransport(entry.url, {
        requestInit: { headers: { ...entry.headers } },
        fetch: (url, init) => boundedFetch(fetch, url, init),
        ...(auth !== undefined && { authProvider: auth }),
      });
    case 'sse':
      return new SSEClientTransport(entry.url, {
        requestInit: { headers: { ...entry.headers } },
        fetch: (url, init) => boundedFetch(fetch, url, init),
        ...(auth !== undefined && { authProvider: auth }),
      });
  }
}

/**
 * Ends a response that is too long. A stream that is opened for a session lasts as long as the session, so there each
 * event has the limit.
 */
async function boundedFetch(
  fetch: typeof globalThis.fetch,
  url: string | URL,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  let read = 0;
  const lasts = (init?.method ?? 'GET') === 'GET';
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const lastEnd = lasts ? endOfEvents(chunk) : -1;
        read = lastEnd === -1 ? read + chunk.byteLength : chunk.byteLength - lastEnd;
        if (read > mostMessageBytes)
          controller.error(new Error(`The answer is longer than ${mostMessageBytes} bytes.`));
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(bounded, { status, statusText, headers });
}

/** The end of the last event in the chunk. -1 if none ends in it. */
function endOfEvents(chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const end = Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n'));
  return end === -1 ? -1 : end + 2;
}
