/**
 * An MCP server over stdio for the tests of the gateway. Its effects are lines in a file, so that tests can count them.
 * Run as: node effect-server.ts EFFECTS_FILE [legacy|modern] [--asks]. With --asks it has a prompt and a resource that ask.
 */
import { appendFileSync } from 'node:fs';
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { acceptedContent, fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const [, , file = '', only] = process.argv;
const effect = (said: string): void => appendFileSync(file, `${said}\n`);
const text = (said: string): CallToolResult => ({ content: [{ type: 'text', text: said }] });

const noArguments = fromJsonSchema<object>({ type: 'object', properties: {} });
const note = fromJsonSchema<{ text: string }>({
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
});
const number = fromJsonSchema<{ n: number }>({ type: 'object', properties: { n: { type: 'number' } } });

const question = {
  mode: 'form' as const,
  message: 'Who?',
  requestedSchema: {
    type: 'object' as const,
    properties: { name: { type: 'string' as const } },
    required: ['name'],
  },
};

async function slowly({ mcpReq }: ServerContext): Promise<CallToolResult> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken !== undefined)
    for (const progress of [1, 2, 3])
      await mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 3 },
      });
  return text('done');
}

function untilCancelled({ mcpReq }: ServerContext): Promise<CallToolResult> {
  effect('waiting');
  return new Promise((_, reject) => {
    mcpReq.signal.addEventListener('abort', () => {
      effect('cancelled');
      reject(new Error('cancelled'));
    });
  });
}

const greet = (name: unknown): CallToolResult => {
  effect(`hello ${String(name)}`);
  return text(`hello ${String(name)}`);
};

serveStdio(
  ({ era }) => {
    const server = new McpServer(
      { name: 'effects', version: '1' },
      { capabilities: { logging: {} }, instructions: 'Be careful.' },
    );
    server.registerTool('get_meta', { inputSchema: noArguments }, (_, { mcpReq }) =>
      text(JSON.stringify(mcpReq._meta ?? {})),
    );
    server.registerTool('create_note', { inputSchema: note }, (given) => {
      effect(`note ${given.text}`);
      return text(`noted ${given.text}`);
    });
    server.registerTool('zorp', { inputSchema: number }, ({ n }) => {
      effect(`zorp ${n}`);
      return text(`zorped ${n}`);
    });
    // The gateway has a tool of this name.
    server.registerTool('read_artifact', { inputSchema: noArguments }, () => text('not of the gateway'));
    server.registerTool('create_and_die', { inputSchema: noArguments }, () => {
      effect('died');
      process.exit(1);
    });
    server.registerTool('create_slowly', { inputSchema: noArguments }, (_, context) => slowly(context));
    server.registerTool('create_until_cancelled', { inputSchema: noArguments }, (_, context) =>
      untilCancelled(context),
    );
    server.registerTool('create_with_question', { inputSchema: noArguments }, async (_, { mcpReq }) => {
      if (era === 'legacy') return greet((await mcpReq.elicitInput(question)).content?.['name']);
      const given = acceptedContent<{ name: string }>(mcpReq.inputResponses, 'who');
      return given === undefined
        ? inputRequired({ inputRequests: { who: inputRequired.elicit(question) } })
        : greet(given.name);
    });
    server.registerTool('get_long_text', { inputSchema: noArguments }, () => ({
      content: [
        { type: 'text', text: `${'x'.repeat(150_000)}THE END` },
        { type: 'image', mimeType: 'image/png', data: Buffer.alloc(5 * 1_048_576, 1).toString('base64') },
      ],
    }));
    server.registerPrompt('greet', { description: 'Greets' }, () => ({
      messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }],
    }));
    if (era === 'legacy' && process.argv.includes('--asks')) {
      server.registerResource('letter', 'test://letter', {}, async (_, context) => {
        const { content } = await context.mcpReq.elicitInput(question);
        return { contents: [{ uri: 'test://letter', text: `Dear ${String(content?.['name'])}` }] };
      });
      server.registerPrompt('greet_by_name', { description: 'Asks, then greets' }, async (context) => {
        const { content } = await context.mcpReq.elicitInput(question);
        return {
          messages: [{ role: 'user', content: { type: 'text', text: `Hello ${String(content?.['name'])}` } }],
        };
      });
    }
    server.registerResource('readme', 'test://readme', {}, () => ({
      contents: [{ uri: 'test://readme', text: 'Read me' }],
    }));
    if (only === 'legacy' && era === 'modern') process.exit(1); // as servers of older SDKs do
    return server;
  },
  { legacy: only === 'modern' ? 'reject' : 'serve' },
);
