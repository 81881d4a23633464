/** An MCP server for the tests of the gateway. Tests count its effects. */
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { acceptedContent, fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server';

export type EffectHost = {
  readonly effect: (said: string) => void;
  /** Ends the server in the middle of a call. */
  readonly die: () => never;
  /** Offers a prompt, a resource and completions that ask a legacy client. */
  readonly asks: boolean;
};

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

export function createEffectServer(era: 'legacy' | 'modern', host: EffectHost): McpServer {
  const { effect } = host;
  const server = new McpServer(
    { name: 'effects', version: '1' },
    { capabilities: { logging: {}, completions: {} }, instructions: 'Be careful.' },
  );
  const greet = (name: unknown): CallToolResult => {
    effect(`hello ${String(name)}`);
    return text(`hello ${String(name)}`);
  };
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
    return host.die();
  });
  server.registerTool('create_slowly', { inputSchema: noArguments }, (_, context) => slowly(context));
  server.registerTool('create_until_cancelled', { inputSchema: noArguments }, (_, context) =>
    untilCancelled(context, effect),
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
  server.registerResource('readme', 'test://readme', {}, () => ({
    contents: [{ uri: 'test://readme', text: 'Read me' }],
  }));
  if (era === 'legacy' && host.asks) registerAsking(server);
  return server;
}

/** What asks the client outside of a tool. Only a legacy server can. */
function registerAsking(server: McpServer): void {
  const ask = async ({ mcpReq }: ServerContext): Promise<string> =>
    String((await mcpReq.elicitInput(question)).content?.['name']);
  server.registerResource('letter', 'test://letter', {}, async (_, context) => ({
    contents: [{ uri: 'test://letter', text: `Dear ${await ask(context)}` }],
  }));
  server.registerPrompt('greet_by_name', { description: 'Asks, then greets' }, async (context) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Hello ${await ask(context)}` } }],
  }));
  server.server.setRequestHandler('completion/complete', async (_, context) => ({
    completion: { values: [await ask(context).catch(() => 'no answer came')] },
  }));
}

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

function untilCancelled({ mcpReq }: ServerContext, effect: EffectHost['effect']): Promise<CallToolResult> {
  effect('waiting');
  return new Promise((_, reject) => {
    mcpReq.signal.addEventListener('abort', () => {
      effect('cancelled');
      reject(new Error('cancelled'));
    });
  });
}
