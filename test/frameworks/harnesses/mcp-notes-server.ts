/** An MCP server over stdio whose tools answer with everything that a client could lose. Its effects are lines of a file. */
import { appendFileSync } from 'node:fs';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const [, , file = ''] = process.argv;
const none = fromJsonSchema<object>({ type: 'object', properties: {} });
/** Larger than the 12,000 characters that an output may have inline. */
const png = Buffer.alloc(20_000, 7).toString('base64');

serveStdio(() => {
  const server = new McpServer({ name: 'notes', version: '1' });
  server.registerTool('read_note', { description: 'Reads a note.', inputSchema: none }, () => ({
    content: [
      { type: 'text', text: 'A map.' },
      { type: 'image', data: png, mimeType: 'image/png' },
    ],
  }));
  server.registerTool(
    'get_facts',
    {
      description: 'Returns facts.',
      inputSchema: none,
      outputSchema: fromJsonSchema<{ n: number }>({
        type: 'object',
        properties: { n: { type: 'number' } },
        required: ['n'],
      }),
    },
    () => ({ content: [{ type: 'text', text: '{"n":42}' }], structuredContent: { n: 42 } }),
  );
  server.registerTool('find_note', { description: 'Finds a note.', inputSchema: none }, () => ({
    isError: true,
    content: [{ type: 'text', text: 'No such note.' }],
  }));
  server.registerTool(
    'get_meta',
    { description: 'Returns the metadata.', inputSchema: none },
    (_, { mcpReq }) => ({
      content: [{ type: 'text', text: JSON.stringify(mcpReq._meta ?? {}) }],
    }),
  );
  server.registerTool(
    'note_down',
    { description: 'Notes.', inputSchema: none, annotations: { destructiveHint: true } },
    () => {
      appendFileSync(file, 'noted\n');
      return { content: [{ type: 'text', text: 'Noted.' }] };
    },
  );
  return server;
});
