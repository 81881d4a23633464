import type { Client } from '@modelcontextprotocol/client';
import { createRuntime } from 'quittance/internal/store/create-runtime';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { governMcp } from './govern-mcp.ts';

declare const client: Client;

const tools: readonly AnyTool[] = await governMcp(client, {
  overrides: { pay: { mode: 'external', timeoutMs: 1_000 } },
  onToolsChanged: (changed: readonly AnyTool[]) => createRuntime({ tools: changed }),
});
createRuntime({ tools });

// @ts-expect-error a client can list and call
await governMcp({ listTools: () => Promise.resolve({ tools: [] }) });
// @ts-expect-error no such option
await governMcp(client, { trusted: true });
// @ts-expect-error no such mode
await governMcp(client, { overrides: { pay: { mode: 'harmless' } } });
