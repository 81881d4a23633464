/** The tools of an MCP server, governed: the server stays as it is. */
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { createRuntime } from 'quittance';
import { governMcp } from '@quittance/mcp';
import assert from 'node:assert/strict';

// A server that someone else wrote.
const server = new McpServer({ name: 'shop', version: '1.0.0' });
const order = fromJsonSchema<{ id: number }>({
  type: 'object',
  properties: { id: { type: 'integer' } },
  required: ['id'],
});
server.registerTool('get_order', { inputSchema: order }, ({ id }) => ({
  content: [{ type: 'text', text: `Order ${id}: 2 books.` }],
}));
server.registerTool('purge', { inputSchema: order, annotations: { destructiveHint: true } }, () => ({
  content: [{ type: 'text', text: 'Gone.' }],
}));

// Your client, connected as usual.
const [ours, theirs] = InMemoryTransport.createLinkedPair();
const client = new Client({ name: 'agent', version: '1.0.0' });
await Promise.all([server.connect(theirs), client.connect(ours)]);

const runtime = createRuntime({ tools: await governMcp(client) });
const turn = runtime.turn({ sessionId: 'mcp' });

// Arguments are checked by the listed schema, and coerced.
const read = await turn.call({ id: 'c1', name: 'get_order', arguments: { id: '7' } });
assert.ok(read.type === 'ToolExecutionResult');
assert.equal(read.output, 'Order 7: 2 books.');

// The server says that this tool destroys something, so a person is asked first.
const held = await turn.call({ id: 'c2', name: 'purge', arguments: { id: 7 } }, { ifHeld: 'return' });
assert.equal(held.type, 'pending');
const { rows } = await runtime.confirmations.list();
assert.equal(rows[0]?.toolName, 'purge');

await turn.end({ withdraw: true });
await runtime.close();
await client.close();
process.stdout.write('The order was read. The purge waited for a person.\n');
