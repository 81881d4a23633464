/** Tools of the gateway itself, next to servers that list tools of the same names. */
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { startGateway } from './start-gateway.ts';
import { startServer } from './start-server.ts';

const textOf = (result: { content?: unknown }): string =>
  (result.content as { text?: string }[]).map(({ text = '' }) => text).join('');

/** A server with tools of these names, which all answer for themselves, and a tool that asks. */
const startNamed = (names: readonly string[]) =>
  startServer(
    () => {
      const server = new McpServer({ name: 'named', version: '1' });
      const inputSchema = fromJsonSchema<object>({ type: 'object', properties: {} });
      for (const name of [...names, 'zorp'])
        server.registerTool(name, { inputSchema, description: 'Of the server.' }, () => ({
          content: [{ type: 'text', text: `the server's ${name}` }],
        }));
      return server;
    },
    { tools: Object.fromEntries(names.map((name) => [name, { mode: 'read' }])) },
  );

describe('the tool that tells about a pending call', () => {
  it.each([
    [['check_call'], 'quittance_check_call'],
    [['quittance_check_call'], 'check_call'],
    [['check_call', 'quittance_check_call'], 'quittance_check_call'],
  ])('next to a server with %j is %s', async (names, own) => {
    const log: string[] = [];
    const { connect } = await startGateway([await startNamed(names)], {
      log: (_, message) => void log.push(message),
    });
    const client = await connect('legacy');
    const { tools } = await client.listTools();
    const ofGateway = tools.filter(({ description }) => description !== 'Of the server.');
    expect(ofGateway.map(({ name }) => name)).toEqual([own, 'read_artifact']);
    // The reserved name is never the server's.
    const ofServer = names.filter((name) => name !== 'quittance_check_call');
    expect(tools.map(({ name }) => name)).toEqual([...ofServer, 'zorp', own, 'read_artifact']);
    const held = JSON.parse(textOf(await client.callTool({ name: 'zorp', arguments: {} }))) as {
      call_id: string;
      message: string;
    };
    expect(held.message).toContain(`call ${own} with`);
    const told = await client.callTool({ name: own, arguments: { call_id: held.call_id } });
    expect(textOf(told)).toContain('pending');
    expect(textOf(await client.callTool({ name: 'check_call', arguments: {} }))).toContain(
      own === 'check_call' ? 'There is no call' : "the server's check_call",
    );
    expect(log.some((line) => line.includes('"quittance_check_call" is taken'))).toBe(
      names.includes('quittance_check_call'),
    );
  });
});
