/**
 * A server that offers everything the scenarios of the official MCP suite ask for, in both eras of the protocol:
 *
 *   node conformance/mcp/fixture-server.ts --port 4100 | --stdio [--eras legacy|modern|both]
 */
import { serve } from '@hono/node-server';
import {
  fromJsonSchema,
  inputRequired,
  McpServer,
  ProtocolError,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import type { ServerContext } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { McpEra } from '../../packages/mcp/src/serve/mcp-fetch.ts';
import { createMcpFetch } from '../../packages/mcp/src/serve/mcp-fetch.ts';
import { FixtureTasks, tasksExtension } from './fixture-tasks.ts';
import { createFixtureTools, png } from './fixture-tools.ts';
import type { FixtureTool } from './fixture-tools.ts';

type Facts = Record<string, unknown>;

const anything = fromJsonSchema<Facts>({ type: 'object' });

/** The SDK checks `Mcp-Param-*` headers only against the tools it knows itself. */
class FixtureServer extends McpServer {
  readonly tools: Readonly<Record<string, FixtureTool>>;
  constructor(
    tools: Readonly<Record<string, FixtureTool>>,
    ...rest: ConstructorParameters<typeof McpServer>
  ) {
    super(...rest);
    this.tools = tools;
  }
  override toolInputSchemaJson(name: string): Facts | undefined {
    return this.tools[name]?.inputSchema;
  }
}

export type Fixture = {
  readonly build: (peer: { readonly era: McpEra; readonly request?: Request }) => McpServer;
  /** Called when the tools or prompts change. */
  onChange?: (what: 'tools' | 'prompts') => void;
};

export function createFixture(): Fixture {
  const tasks = new FixtureTasks();
  const servers = new Set<McpServer>();
  let extra = 0;
  const changed = (what: 'tools' | 'prompts'): void => {
    extra += 1;
    fixture.onChange?.(what);
    for (const server of servers)
      if (what === 'tools') server.sendToolListChanged();
      else server.sendPromptListChanged();
  };
  const tools = createFixtureTools({
    tasks,
    changeTools: () => changed('tools'),
    changePrompts: () => changed('prompts'),
  });

  const fixture: Fixture = {
    build({ era, request }) {
      const face = new FixtureServer(
        tools,
        { name: 'quittance-fixture', version: '1.0.0' },
        {
          capabilities: {
            tools: { listChanged: true },
            prompts: { listChanged: true },
            resources: { listChanged: true, subscribe: true },
            completions: {},
            logging: {},
            ...(era === 'modern' && { extensions: { [tasksExtension]: {} } }),
          },
        },
      );
      const { server } = face;
      server.setRequestHandler('tools/list', async () => ({
        tools: Object.entries({
          ...tools,
          ...(extra % 2 === 1 && { test_extra_tool: tools['test_simple_text'] }),
        }).map(([name, tool]) => ({
          name,
          description: `The tool ${name} of the suite.`,
          inputSchema: { type: 'object' as const, ...tool?.inputSchema },
        })),
      }));
      // The SDK refuses a task as the result of its own handler.
      server.removeRequestHandler('tools/call');
      // With a fallback, unknown methods would not be answered as such.
      const method = request?.headers.get('mcp-method') ?? 'tools/call';
      if (method === 'tools/call')
        server.fallbackRequestHandler = async (sent, ctx) => {
          if (sent.method !== 'tools/call') throw new ProtocolError(-32_601, 'Method not found');
          return callTool(tools, (sent.params ?? {}) as Facts, ctx);
        };
      if (era === 'modern')
        for (const name of ['tasks/get', 'tasks/update', 'tasks/cancel'])
          server.setRequestHandler(name, { params: anything, result: anything }, async (params, ctx) =>
            tasks.serve(name, params, ctx),
          );
      addResources(face);
      addPrompts(face);
      if (era === 'legacy') {
        server.setRequestHandler('resources/subscribe', async () => ({}));
        server.setRequestHandler('resources/unsubscribe', async () => ({}));
      }
      if (era === 'legacy' || request === undefined) {
        servers.add(face);
        server.onclose = () => servers.delete(face);
      }
      return face;
    },
  };
  return fixture;
}

async function callTool(
  tools: Readonly<Record<string, FixtureTool>>,
  { name, arguments: args }: Facts,
  ctx: ServerContext,
): Promise<Facts> {
  const tool = Object.hasOwn(tools, String(name)) ? tools[String(name)] : undefined;
  if (tool === undefined) throw new ProtocolError(-32_602, `Unknown tool ${String(name)}`);
  return (await tool.run((args ?? {}) as Facts, ctx)) as Facts;
}

function addResources(face: McpServer): void {
  const add = (
    name: string,
    uri: string,
    mimeType: string,
    contents: { text: string } | { blob: string },
  ): void => {
    face.registerResource(name, uri, { description: `The resource ${name}.`, mimeType }, async () => ({
      contents: [{ uri, mimeType, ...contents }],
    }));
  };
  add('static-text', 'test://static-text', 'text/plain', {
    text: 'This is the content of the static text resource.',
  });
  add('static-binary', 'test://static-binary', 'image/png', { blob: png });
  add('watched-resource', 'test://watched-resource', 'text/plain', { text: 'Watched.' });
  face.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'A resource by id.', mimeType: 'application/json' },
    async (uri, { id }) => {
      if (typeof id !== 'string') throw new ResourceNotFoundError(uri.href);
      const data = { id, templateTest: true, data: `Data for ID: ${id}` };
      return { contents: [{ uri: uri.href, mimeType: 'application/json', text: JSON.stringify(data) }] };
    },
  );
}

function addPrompts(face: McpServer): void {
  type Message = { role: 'user'; content: { type: 'text'; text: string } };
  const say = (said: string): Message => ({ role: 'user', content: { type: 'text', text: said } });
  const withArguments = (...names: readonly string[]) =>
    fromJsonSchema<Facts>({
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
      required: [...names],
    });
  face.registerPrompt('test_simple_prompt', { description: 'A simple prompt.' }, async () => ({
    messages: [say('This is a simple prompt for testing.')],
  }));
  face.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'A prompt with arguments.', argsSchema: withArguments('arg1', 'arg2') },
    async ({ arg1, arg2 }) => ({
      messages: [say(`Prompt with arguments: arg1='${String(arg1)}', arg2='${String(arg2)}'`)],
    }),
  );
  face.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A prompt with a resource.', argsSchema: withArguments('resourceUri') },
    async ({ resourceUri }) => ({
      messages: [
        {
          role: 'user',
          content: {
            type: 'resource',
            resource: {
              uri: String(resourceUri),
              mimeType: 'text/plain',
              text: 'Embedded resource content for testing.',
            },
          },
        },
        say('Please process the embedded resource above.'),
      ],
    }),
  );
  face.registerPrompt('test_prompt_with_image', { description: 'A prompt with an image.' }, async () => ({
    messages: [
      { role: 'user', content: { type: 'image', data: png, mimeType: 'image/png' } },
      say('Please analyze the image above.'),
    ],
  }));
  face.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'A prompt that needs input.', argsSchema: anything },
    async (_, ctx) => {
      const answer = ctx.mcpReq.inputResponses?.['user_context'] as { content?: Facts } | undefined;
      if (answer !== undefined) return { messages: [say(`Context: ${String(answer.content?.['context'])}`)] };
      return inputRequired({
        inputRequests: {
          user_context: inputRequired.elicit({
            message: 'What context should the prompt use?',
            requestedSchema: {
              type: 'object',
              properties: { context: { type: 'string' } },
              required: ['context'],
            },
          }),
        },
      });
    },
  );
  face.server.setRequestHandler('completion/complete', async ({ params }) => ({
    completion: {
      values: ['paris', 'park', 'party'].filter((word) => word.startsWith(params.argument.value)),
      hasMore: false,
    },
  }));
}

if (import.meta.main) {
  const option = (name: string): string | undefined => {
    const at = process.argv.indexOf(`--${name}`);
    return at < 0 ? undefined : process.argv[at + 1];
  };
  const given = option('eras') ?? 'both';
  const eras: readonly McpEra[] = given === 'legacy' || given === 'modern' ? [given] : ['legacy', 'modern'];
  const fixture = createFixture();
  if (process.argv.includes('--stdio') && given === 'legacy') {
    await fixture.build({ era: 'legacy' }).connect(new StdioServerTransport());
  } else if (process.argv.includes('--stdio')) {
    serveStdio(({ era }) => fixture.build({ era }), { legacy: eras.includes('legacy') ? 'serve' : 'reject' });
  } else {
    const { fetch, notify } = createMcpFetch({ build: fixture.build, eras });
    fixture.onChange = (what) => (what === 'tools' ? notify.toolsChanged() : notify.promptsChanged());
    serve(
      { fetch: (request) => fetch(request), port: Number(option('port') ?? 0), hostname: '127.0.0.1' },
      ({ port }) => process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}/mcp` })}\n`),
    );
  }
}
