/** Everything but calls of tools passes through unchanged, also with two servers and across versions of the protocol. */
import type { Client } from '@modelcontextprotocol/client';
import type { ServerContext } from '@modelcontextprotocol/server';
import { inputRequired, McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StartedGateway } from './start-gateway.ts';
import { startGateway } from './start-gateway.ts';
import { startServer } from './start-server.ts';

type Era = 'legacy' | 'modern';
const eras = ['legacy', 'modern'] as const;
const text = (said: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(said) }] });
const prompt = {
  maxTokens: 5,
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Say hi' } }],
};
/** Of the legacy server, which announces its changes on its connections. */
const connected = new Set<McpServer>();
const heard: string[] = [];

/** Lists in pages, and asks the client. */
function build(name: string, era: Era): McpServer {
  const server = new McpServer(
    { name, version: '1' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        logging: {},
        completions: {},
      },
    },
  );
  const { server: raw } = server;
  if (era === 'legacy') connected.add(server);
  const tools = ['get_sample', 'get_roots', 'get_logged'];
  raw.setRequestHandler('tools/list', () => ({
    tools: tools.map((tool) => ({ name: tool, inputSchema: { type: 'object' as const, properties: {} } })),
  }));
  raw.setRequestHandler('tools/call', async ({ params }, context) => {
    switch (params.name) {
      case 'get_sample':
        return ask(context, era, 'sampling');
      case 'get_roots':
        return ask(context, era, 'roots');
      default:
        await context.mcpReq.log('warning', { what: 'logged' });
        return text('logged');
    }
  });
  raw.setRequestHandler('prompts/list', ({ params }) => {
    const page = Number(params?.cursor ?? 0);
    return {
      prompts: [{ name: `prompt-${page}`, _meta: { 'shop/page': page } }],
      ...(page < 2 && { nextCursor: String(page + 1) }),
    };
  });
  raw.setRequestHandler('prompts/get', ({ params }) => ({
    description: `${name} ${params.name}`,
    messages: [],
    _meta: { 'shop/of': name },
  }));
  raw.setRequestHandler('resources/list', () => ({
    resources: [
      { uri: `test://${name}/note`, name: 'note' },
      { uri: 'test://shared', name },
    ],
  }));
  raw.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: `test://${name}/{id}`, name: 'notes' }],
  }));
  raw.setRequestHandler('resources/read', ({ params: { uri } }) => ({
    contents: [{ uri, text: `${name} of ${uri}`, _meta: { 'shop/read': true } }],
  }));
  if (era === 'legacy') {
    raw.setRequestHandler('resources/subscribe', () => ({}));
    raw.setRequestHandler('resources/unsubscribe', () => ({}));
    raw.setNotificationHandler('notifications/roots/list_changed', () => void heard.push('roots'));
  }
  raw.setRequestHandler('completion/complete', ({ params }) => ({
    completion: { values: [`${name} ${params.argument.value}`], total: 1, hasMore: false },
  }));
  return server;
}

async function ask({ mcpReq }: ServerContext, era: Era, what: 'sampling' | 'roots') {
  if (era === 'legacy')
    return text(
      what === 'sampling'
        ? (await mcpReq.requestSampling(prompt)).content
        : await mcpReq.send({ method: 'roots/list' }),
    );
  const answer = mcpReq.inputResponses?.[what];
  if (answer !== undefined)
    return text(what === 'sampling' ? (answer as { content: unknown }).content : answer);
  return inputRequired({
    inputRequests: {
      [what]: what === 'sampling' ? inputRequired.createMessage(prompt) : inputRequired.listRoots(),
    },
  });
}

let started: StartedGateway;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  const onEnd = (end: () => Promise<void>): void => void ends.unshift(end);
  const servers = await Promise.all(
    (['old', 'new'] as const).map((name) => {
      const era: Era = name === 'old' ? 'legacy' : 'modern';
      return startServer(() => build(name, era), { name, era, onEnd });
    }),
  );
  started = await startGateway(servers, { onEnd, observe: true });
});
afterAll(async () => {
  for (const end of ends) await end();
});

async function connect(era: Era): Promise<Client> {
  const client = await started.connect(era, { capabilities: { sampling: {}, roots: { listChanged: true } } });
  client.setRequestHandler('sampling/createMessage', ({ params }) => ({
    role: 'assistant',
    model: 'test',
    content: { type: 'text', text: `Heard ${params.messages.length}` },
  }));
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///home/ada', name: 'home' }] }));
  return client;
}

const textOf = (result: { content?: unknown }): unknown =>
  JSON.parse((result.content as { text: string }[])[0]?.text ?? 'null');

describe.each(eras)('a %s client', (era) => {
  it.each(['old', 'new'])('samples and tells its roots to the %s server', async (server) => {
    const client = await connect(era);
    expect(textOf(await client.callTool({ name: `${server}__get_sample`, arguments: {} }))).toMatchObject({
      text: 'Heard 1',
    });
    expect(textOf(await client.callTool({ name: `${server}__get_roots`, arguments: {} }))).toMatchObject({
      roots: [{ uri: 'file:///home/ada', name: 'home' }],
    });
  });

  it('reads lists of several pages of several servers, and what they name', async () => {
    const client = await connect(era);
    const prompts: { readonly name: string; readonly _meta?: unknown }[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.listPrompts(cursor === undefined ? {} : { cursor });
      prompts.push(...page.prompts);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(prompts.map(({ name }) => name)).toEqual(
      ['old', 'new'].flatMap((server) => [0, 1, 2].map((page) => `${server}__prompt-${page}`)),
    );
    expect(prompts[1]?._meta).toEqual({ 'shop/page': 1 });
    await expect(client.listPrompts({ cursor: 'forged' })).rejects.toThrow('Invalid cursor');
    expect(await client.getPrompt({ name: 'new__prompt-2' })).toMatchObject({
      description: 'new prompt-2',
      _meta: { 'shop/of': 'new' },
    });
  });

  it('reads resources, templates and completions of the server that owns them', async () => {
    const client = await connect(era);
    const { resources } = await client.listResources();
    // The second server cannot take over a resource of the first.
    expect(resources.map(({ uri, name }) => `${uri} ${name}`)).toEqual([
      'test://old/note note',
      'test://shared old',
      'test://new/note note',
    ]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'test://old/{id}',
      'test://new/{id}',
    ]);
    for (const server of ['old', 'new']) {
      const uri = `test://${server}/note`;
      expect((await client.readResource({ uri })).contents).toMatchObject([
        { uri, text: `${server} of ${uri}`, _meta: { 'shop/read': true } },
      ]);
    }
    // No server lists this one, and both would answer. The template of the second fits.
    expect((await client.readResource({ uri: 'test://new/17' })).contents).toMatchObject([
      { text: 'new of test://new/17' },
    ]);
    expect((await client.readResource({ uri: 'test://shared' })).contents).toMatchObject([
      { text: 'old of test://shared' },
    ]);
    for (const ref of [
      { type: 'ref/prompt' as const, name: 'new__prompt-1' },
      { type: 'ref/resource' as const, uri: 'test://new/{id}' },
    ]) {
      const { completion } = await client.complete({ ref, argument: { name: 'a', value: 'b' } });
      expect(completion).toMatchObject({ values: ['new b'], total: 1 });
    }
  });
});

describe('a legacy client', () => {
  it('gets log lines, changes of lists and of resources of a legacy server', async () => {
    const client = await connect('legacy');
    const seen: string[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => {
      seen.push(`${params.level} ${JSON.stringify(params.data)}`);
    });
    client.setNotificationHandler('notifications/prompts/list_changed', () => void seen.push('prompts'));
    client.setNotificationHandler('notifications/resources/list_changed', () => void seen.push('resources'));
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      seen.push(params.uri);
    });
    await client.sendRootsListChanged();
    await expect.poll(() => heard).toEqual(['roots']);
    await client.setLoggingLevel('info');
    await client.listResources();
    await client.subscribeResource({ uri: 'test://old/note' });
    await client.callTool({ name: 'old__get_logged', arguments: {} });
    await expect.poll(() => seen).toContain('warning {"what":"logged"}');
    for (const server of connected)
      if (server.isConnected()) {
        server.sendPromptListChanged();
        server.sendResourceListChanged();
        await server.server.sendResourceUpdated({ uri: 'test://old/note' }).catch(() => undefined);
      }
    await expect
      .poll(() => seen)
      .toEqual(expect.arrayContaining(['prompts', 'resources', 'test://old/note']));
  });
});
