/** An MCP server by standard input and output, for clients that start one. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'shop', version: '1' });
const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
server.registerTool(
  'refund',
  { description: 'Refunds.', inputSchema: { cents: z.number() }, annotations: { destructiveHint: true } },
  ({ cents }) => text(`refunded ${cents}`),
);
server.registerTool('find', { description: 'Finds.', annotations: { readOnlyHint: true } }, () =>
  text('found'),
);
server.registerTool('fail', { description: 'Fails.' }, () => ({ isError: true, ...text('No such order.') }));
await server.connect(new StdioServerTransport());
