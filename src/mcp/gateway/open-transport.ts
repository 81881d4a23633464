import type { AuthProvider, Transport } from '@modelcontextprotocol/client';
import { SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { ServerEntry } from '../config/server-entry.ts';
import { useLineBuffer } from './line-buffer.ts';

/** Larger answers end the connection. Embedded files are base64, so this is well above any sensible result. */
const mostBytes = 64 * 1024 * 1024;
/** On a pipe. */
const mostLineBytes = 16 * 1024 * 1024;

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
        maxBufferSize: mostLineBytes,
        ...(entry.cwd !== undefined && { cwd: entry.cwd }),
      });
      useLineBuffer(transport, mostLineBytes);
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

/** Ends a response that is too long. */
async function boundedFetch(
  fetch: typeof globalThis.fetch,
  url: string | URL,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  let read = 0;
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        read += chunk.byteLength;
        if (read > mostBytes) controller.error(new Error(`The answer is longer than ${mostBytes} bytes.`));
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(bounded, { status, statusText, headers });
}
