/** A small MCP server over stdio: stands for the servers of your desktop client. */
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const order = fromJsonSchema<{ order: string }>({
  type: 'object',
  properties: { order: { type: 'string' } },
  required: ['order'],
});
const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });

serveStdio(() => {
  const server = new McpServer({ name: 'shop', version: '1.0.0' });
  server.registerTool('get_order', { description: 'Finds an order.', inputSchema: order }, ({ order: id }) =>
    say(`Order ${id}: shipped`),
  );
  server.registerTool(
    'cancel_order',
    { description: 'Cancels an order.', inputSchema: order },
    ({ order: id }) => say(`Order ${id} is canceled`),
  );
  return server;
});
