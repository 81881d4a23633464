/** An MCP server in this process, over HTTP, as a server behind a gateway. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { McpServer } from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import type { ServerEntry } from '../../../packages/server/src/mcp-reviews/server-entry.ts';
import { createMcpFetch } from '../../../packages/mcp/src/serve/mcp-fetch.ts';
import { createEffectServer } from './effect-tools.ts';

type Era = 'legacy' | 'modern';
export type ServerSetting = Partial<Pick<ServerEntry, 'name' | 'tools' | 'isTrusted'>> & {
  readonly era?: Era | undefined;
  /** Registers what ends the server. Default: the end of the test. */
  readonly onEnd?: (end: () => Promise<void>) => void;
};

export async function startServer(
  build: (era: Era) => McpServer,
  { era, onEnd = onTestFinished, ...setting }: ServerSetting = {},
): Promise<ServerEntry> {
  const mcp = createMcpFetch({
    build: (peer) => build(peer.era),
    ...(era !== undefined && { eras: [era] }),
  });
  const listener = getRequestListener((request) => mcp.fetch(request));
  const http = createServer((request, response) => void listener(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onEnd(async () => {
    http.close();
    http.closeAllConnections();
    await mcp.close();
  });
  return {
    name: 'notes',
    isTrusted: false,
    tools: {},
    isDisabled: false,
    ...setting,
    type: 'http',
    url: new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`),
    headers: {},
  };
}

/** The server of `effect-tools.ts`, with the list of its effects. */
export async function startEffects({
  asks = false,
  ...setting
}: ServerSetting & { readonly asks?: boolean } = {}): Promise<{
  readonly entry: ServerEntry;
  readonly effects: string[];
}> {
  const effects: string[] = [];
  const host = {
    effect: (said: string) => void effects.push(said),
    die: () => {
      throw new Error('A server in this process cannot die.');
    },
    asks,
  };
  return { entry: await startServer((era) => createEffectServer(era, host), setting), effects };
}
