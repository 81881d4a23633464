/**
 * The server of the crash matrix, over stdio: `node errand-server.ts EFFECTS PID`. A note is one line of a file. The
 * server takes a moment before and after it, so that it is killed on both sides.
 */
import { appendFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const [, , effects = '', pid = ''] = process.argv;
writeFileSync(pid, String(process.pid));

const note = fromJsonSchema<{ key: string }>({
  type: 'object',
  properties: { key: { type: 'string' } },
  required: ['key'],
});

serveStdio(() => {
  const server = new McpServer({ name: 'errands', version: '1' });
  server.registerTool('send_note', { inputSchema: note }, async ({ key }) => {
    await sleep(Math.random() * 10);
    appendFileSync(effects, `${key}\n`);
    await sleep(Math.random() * 15);
    return { content: [{ type: 'text', text: `sent ${key}` }] };
  });
  return server;
});
