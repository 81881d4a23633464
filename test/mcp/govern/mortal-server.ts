/** A server whose tools end their process before they answer. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

serveStdio(() => {
  const server = new McpServer({ name: 'mortal', version: '1.0.0' });
  for (const name of ['send_money', 'get_balance'])
    server.registerTool(name, { description: 'Dies.' }, () => process.exit(1));
  return server;
});
