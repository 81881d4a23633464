/** A gateway in this process, in front of real servers in their own processes, for tests. */
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClientOptions } from '@modelcontextprotocol/client';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import type { OpenLedger } from '../../../packages/quittance/src/ledger/ledger.ts';
import type { ServerEntry, ToolSetting } from '../../../packages/server/src/mcp-reviews/server-entry.ts';
import type { Caller } from '../../../packages/mcp/src/gateway/client-request.ts';
import type { McpGateway } from '../../../packages/mcp/src/gateway/create-gateway.ts';
import { createMcpGateway } from '../../../packages/mcp/src/gateway/create-gateway.ts';
import type { GatewayOptions } from '../../../packages/mcp/src/gateway/gateway.ts';
import { createMemoryLedger } from '../../../packages/quittance/src/store/memory/memory-ledger.ts';
import { compileCache } from '../../frameworks/suite/package-arguments.ts';
import { findCalls } from '../../../packages/quittance/src/ledger/reads.ts';

export const ada: Caller = { id: 'ada', principal: { userId: 'ada' }, askedBy: undefined, readsOnly: false };

export const makeFolder = (): string => mkdtempSync(join(tmpdir(), 'quittance-mcp-'));

/** The server of `effect-server.ts`, with its effects in this file. */
export const effectServer = (
  name: string,
  file: string,
  {
    era,
    tools = {},
    asks = false,
  }: { era?: 'legacy' | 'modern'; tools?: Record<string, ToolSetting>; asks?: boolean } = {},
): ServerEntry => ({
  name,
  isTrusted: false,
  tools,
  isDisabled: false,
  type: 'stdio',
  command: process.execPath,
  args: [
    join(import.meta.dirname, 'effect-server.ts'),
    file,
    ...(era === undefined ? [] : [era]),
    ...(asks ? ['--asks'] : []),
  ],
  env: compileCache,
});

export const effectsIn = (file: string): readonly string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];

export type StartedGateway = {
  readonly gateway: McpGateway;
  readonly ledger: OpenLedger;
  readonly url: string;
  /** Connects a client that calls itself `probe`, unless it says otherwise. */
  readonly connect: (
    era: 'legacy' | 'modern',
    options?: ClientOptions & { readonly name?: string },
  ) => Promise<Client>;
};

export type GatewaySetting = Partial<GatewayOptions> & {
  readonly observe?: boolean;
  /** Registers what ends the gateway and its clients. Default: the end of the test. */
  readonly onEnd?: (end: () => Promise<void>) => void;
};

export async function startGateway(
  servers: readonly ServerEntry[],
  { observe = false, ledger = createMemoryLedger(), onEnd = onTestFinished, ...more }: GatewaySetting = {},
): Promise<StartedGateway> {
  const gateway = createMcpGateway({ config: { servers, observe }, ledger, version: '1', ...more });
  onEnd(() => gateway.close());
  await gateway.start();
  const http = await gateway.listen({ port: 0, access: { type: 'open', caller: ada } });
  onEnd(() => http.close());
  return {
    gateway,
    ledger,
    url: http.url,
    connect: async (era, { name = 'probe', ...clientOptions } = {}) => {
      const client = new Client(
        { name, version: '1' },
        {
          capabilities: {},
          versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } },
          ...clientOptions,
        },
      );
      onEnd(() => client.close());
      await client.connect(new StreamableHTTPClientTransport(new URL(http.url)));
      return client;
    },
  };
}

/** How the ids of the sessions of a client begin. */
export const sessionOf = (clientName: string): string => `mcp:${ada.id}:${clientName}:`;

/** The calls of a ledger: tool, status and code. `clientName`: only those of this client. */
export async function callsIn(
  ledger: OpenLedger,
  clientName?: string,
): Promise<readonly (readonly [string, string, string?])[]> {
  const { rows } = await findCalls(ledger, { limit: 1_000 });
  return rows
    .filter(({ sessionId }) => clientName === undefined || sessionId.startsWith(sessionOf(clientName)))
    .toReversed()
    .map(({ toolName, status, code }) =>
      code === undefined ? [toolName, status] : [toolName, status, code],
    );
}
