/** A gateway that closes while servers are handling calls. */
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import type { StartedGateway } from './start-gateway.ts';
import { callsIn, startGateway } from './start-gateway.ts';
import { startServer } from './start-server.ts';

type Gate = { readonly entered: Promise<void>; readonly open: () => void };

/** A gateway with one call in its server, which answers once the gate is open. */
async function startCall(): Promise<StartedGateway & Gate> {
  const [entered, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const entry = await startServer(() => {
    const server = new McpServer({ name: 'gated', version: '1' });
    const inputSchema = fromJsonSchema<object>({ type: 'object', properties: {} });
    server.registerTool('create_note', { inputSchema }, async () => {
      entered.resolve();
      await opened.promise;
      return { content: [{ type: 'text', text: 'noted' }] };
    });
    return server;
  });
  const started = await startGateway([entry]);
  const client = await started.connect('legacy');
  void client.callTool({ name: 'create_note', arguments: {} }).catch(() => undefined);
  await entered.promise;
  return { ...started, entered: entered.promise, open: () => opened.resolve() };
}

describe('a gateway that closes', () => {
  it('waits a moment for calls that servers are handling', async () => {
    const { gateway, ledger, open } = await startCall();
    const closing = gateway.close();
    open();
    await closing;
    expect(await callsIn(ledger)).toEqual([['create_note', 'settled']]);
  });

  it('does not wait for ever: the outcome of such a call is unknown', async () => {
    const { gateway, ledger, open } = await startCall();
    await gateway.close();
    expect(await callsIn(ledger)).toEqual([['create_note', 'settled', 'tool.indeterminate']]);
    open();
  });
});
