/** What clients get of the results of tools, and what the ledger keeps of them. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import { McpServer } from '@modelcontextprotocol/server';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StartedGateway } from './start-gateway.ts';
import { startGateway } from './start-gateway.ts';
import { startServer } from './start-server.ts';
import { findCalls, readWholeArtifact } from '../../../packages/quittance/src/ledger/reads.ts';

const secret = 'sk-proj-abcdefghijklmnopqrstuvwxyz123456';
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const wav = Buffer.from('RIFF\u0000\u00ff\u00feWAVEfmt ', 'latin1').toString('base64');
const bytesOf = (size: number): string => Buffer.alloc(size, 0xe9).toString('base64'); // not UTF-8
/** As in the settings. Above the text limit, so that every file is kept as an artifact. */
const mediaLimit = 300_000;

const weather = {
  type: 'object',
  properties: { degrees: { type: 'number' }, note: { type: 'string' } },
  required: ['degrees'],
} as const;
const structured = (structuredContent: Record<string, unknown>): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
  structuredContent,
});
const parts = (...content: CallToolResult['content']): CallToolResult => ({ content });

/** Results of tools, by their names. */
const results: Readonly<Record<string, { readonly result: CallToolResult; readonly outputSchema?: object }>> =
  {
    get_weather: { result: structured({ degrees: 20 }), outputSchema: weather },
    get_wrong_weather: { result: structured({ degrees: 'warm' }), outputSchema: weather },
    get_no_weather: { result: parts({ type: 'text', text: '20' }), outputSchema: weather },
    get_failed_weather: {
      result: { ...parts({ type: 'text', text: 'No sensor.' }), isError: true },
      outputSchema: weather,
    },
    get_secret_weather: {
      result: structured({ degrees: 20, note: `The key is ${secret}.` }),
      outputSchema: weather,
    },
    get_free_structure: { result: structured({ any: [1, { thing: true }] }) },
    get_media: {
      result: {
        ...parts(
          { type: 'text', text: 'Look:', annotations: { audience: ['user'], priority: 0.5 } },
          { type: 'image', data: png, mimeType: 'image/png', annotations: { priority: 1 } },
          { type: 'audio', data: wav, mimeType: 'audio/wav', _meta: { 'shop/take': 2 } },
          { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'Hello' } },
          { type: 'resource', resource: { uri: 'file:///a.bin', mimeType: 'application/x-a', blob: wav } },
          { type: 'resource_link', uri: 'file:///b.txt', name: 'b' },
        ),
        _meta: { 'shop/trace': 'abc' },
      },
    },
    get_large_media: {
      result: parts(
        { type: 'text', text: 'Large:' },
        { type: 'image', data: bytesOf(mediaLimit), mimeType: 'image/png' },
        { type: 'image', data: bytesOf(mediaLimit + 3), mimeType: 'image/png' },
        { type: 'audio', data: bytesOf(mediaLimit + 3), mimeType: 'audio/wav' },
        {
          type: 'resource',
          resource: { uri: 'file:///a.bin', mimeType: 'application/x-a', blob: bytesOf(mediaLimit + 3) },
        },
        // Line breaks are common in base64.
        {
          type: 'image',
          data: bytesOf(mediaLimit + 3).replaceAll(/.{76}/g, '$&\n'),
          mimeType: 'image/png',
        },
      ),
    },
    get_long_text: { result: parts({ type: 'text', text: `${'x'.repeat(100_500)}THE END` }) },
    get_long_resource: {
      result: parts({
        type: 'resource',
        resource: {
          uri: 'file:///log',
          mimeType: 'text/plain',
          text: `${'y'.repeat(150_000)} ${secret} LAST`,
        },
      }),
    },
    get_middling_text: { result: parts({ type: 'text', text: 'z'.repeat(100_200) }) },
    get_secrets: {
      result: {
        ...parts(
          { type: 'text', text: `key ${secret}` },
          {
            type: 'resource',
            resource: { uri: 'file:///.env', mimeType: 'text/plain', text: `KEY=${secret}` },
          },
          {
            type: 'resource',
            resource: {
              uri: 'file:///.env2',
              mimeType: 'text/plain',
              blob: Buffer.from(`KEY=${secret}`).toString('base64'),
            },
          },
          {
            type: 'resource_link',
            uri: `https://x.example/?token=${secret}`,
            name: 'r',
            description: secret,
          },
        ),
        _meta: { 'shop/debug': { header: `Bearer ${secret}` } },
      },
    },
    get_failed_secret: { result: { ...parts({ type: 'text', text: `Bad key ${secret}` }), isError: true } },
  };

let started: StartedGateway;
const clients = new Map<string, Client>();
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  const onEnd = (end: () => Promise<void>): void => void ends.unshift(end);
  const build = (): McpServer => {
    const server = new McpServer({ name: 'outputs', version: '1' });
    // The SDK of the server would refuse wrong results itself.
    server.server.registerCapabilities({ tools: {} });
    server.server.setRequestHandler('tools/list', () => ({
      tools: Object.entries(results).map(([name, { outputSchema }]) => ({
        name,
        inputSchema: { type: 'object' as const, properties: {} },
        ...(outputSchema !== undefined && { outputSchema: { ...outputSchema, type: 'object' as const } }),
      })),
    }));
    server.server.setRequestHandler('tools/call', ({ params }) => {
      if (params.name === 'get_error') throw new Error(`Refused ${secret}`);
      return results[params.name]?.result ?? parts();
    });
    return server;
  };
  const config = {
    servers: [await startServer(build, { onEnd })],
    observe: false,
    mediaLimit,
    textLimit: 100_500,
  };
  started = await startGateway(config.servers, { config, onEnd });
  for (const era of ['legacy', 'modern'] as const) clients.set(era, await started.connect(era));
});
afterAll(async () => {
  for (const end of ends) await end();
});

describe.each(['legacy', 'modern'] as const)('the result that a %s client gets', (era) => {
  const call = async (name: string): Promise<CallToolResult> => {
    const client = clients.get(era);
    if (client === undefined) throw new Error('Not connected.');
    return (await client.callTool({ name, arguments: {} })) as CallToolResult;
  };
  const readResource = async (uri: unknown) => clients.get(era)?.readResource({ uri: String(uri) });

  it('has structured content that matches the schema of the tool', async () => {
    expect(await call('get_weather')).toMatchObject({ structuredContent: { degrees: 20 } });
    expect((await call('get_free_structure')).structuredContent).toEqual({ any: [1, { thing: true }] });
    for (const name of ['get_wrong_weather', 'get_no_weather']) {
      const result = await call(name);
      expect(result).toMatchObject({
        isError: true,
        _meta: { 'quittance/outcome': { code: 'tool.invalid_output' } },
      });
      expect(result.structuredContent).toBeUndefined();
    }
    const failed = await call('get_failed_weather');
    expect(failed).toMatchObject({ isError: true, content: [{ type: 'text', text: 'No sensor.' }] });
  });

  it('has pictures, sounds and resources unchanged, and the ledger keeps them as artifacts', async () => {
    const { result } = results['get_media'] ?? {};
    const { content, _meta } = await call('get_media');
    expect(content).toEqual(result?.content);
    expect(_meta).toMatchObject(result?._meta ?? {});
    const { ledger } = started;
    const [stored] = (await findCalls(ledger, { toolName: 'get_media', limit: 1 })).rows;
    const { sessionId = '', callId = '' } = stored ?? {};
    const read = await ledger.readCall(sessionId, callId);
    const responded = read?.events.findLast(({ type }) => type === 'tool.responded');
    const text = JSON.stringify(responded);
    expect(text).not.toContain(png);
    const ids = [...new Set(text.match(/art_\w+/g))];
    const kept = await Promise.all(ids.map(async (id) => readWholeArtifact(ledger, sessionId, id)));
    expect(
      kept.map((artifact) => Buffer.from((artifact?.content ?? '') as Uint8Array).toString('base64')),
    ).toEqual(expect.arrayContaining([png, wav]));
  });

  it('has a link in place of a file above the limit, whose content can be read', async () => {
    const { content } = await call('get_large_media');
    const whole = bytesOf(mediaLimit + 3);
    expect(content.map(({ type }) => type)).toEqual([
      'text',
      'image',
      'resource_link',
      'resource_link',
      'resource_link',
      'resource_link',
    ]);
    expect(content[1]).toMatchObject({ data: bytesOf(mediaLimit) });
    for (const part of content.slice(2)) {
      const link = part as { uri: string; mimeType: string; size: number };
      expect(link.size).toBe(mediaLimit + 3);
      const [read] = (await readResource(link.uri))?.contents ?? [];
      expect(read).toMatchObject({ uri: link.uri, mimeType: link.mimeType });
      expect((read as { blob?: string }).blob === whole).toBe(true);
    }
    const other = String((content[2] as { uri?: string }).uri).replace(/mcp%3A[^%]+/, 'mcp%3Aeve');
    await expect(readResource(other)).rejects.toThrow('Unknown resource');
  });

  it('has a short form of long text, which read_artifact reads in pieces', async () => {
    const said = JSON.stringify((await call('get_long_text')).content);
    expect(said.length).toBeLessThan(20_000);
    const artifactId = /art_\w+/.exec(said)?.[0] ?? '';
    const found = await clients.get(era)?.callTool({
      name: 'read_artifact',
      arguments: { artifactId, search: 'THE END' },
    });
    expect(found?.isError).not.toBe(true);
    expect(JSON.stringify(found?.content)).toContain('THE END');
    // Files of servers are often longer than 12,000 characters.
    expect(await call('get_middling_text')).toMatchObject({ content: [{ text: 'z'.repeat(100_200) }] });

    const { content } = await call('get_long_resource');
    const link = content.find(({ type }) => type === 'resource_link') as { uri?: string } | undefined;
    const [read] = (await readResource(link?.uri))?.contents ?? [];
    expect((read as { text?: string }).text).toContain('LAST');
    expect(JSON.stringify(read)).not.toContain(secret);
  });

  it('[secrets-stay-out] has no secrets, wherever the server puts them', async () => {
    const seen = await Promise.all(
      ['get_secrets', 'get_secret_weather', 'get_failed_secret'].map(async (name) => call(name)),
    );
    const error = await call('get_error').catch(String);
    const all = JSON.stringify([seen, error]);
    expect(all).not.toContain(secret);
    const blobs = seen.flatMap(({ content }) =>
      content.flatMap((part) =>
        part.type === 'resource' && 'blob' in part.resource ? part.resource.blob : [],
      ),
    );
    expect(blobs.map((blob) => Buffer.from(blob, 'base64').toString()).join()).not.toContain(secret);
    expect(blobs).toHaveLength(1);
    expect(seen[1]).toMatchObject({ structuredContent: { degrees: 20 } });
    const kept = await started.ledger.readEntries({ limit: 1_000 });
    expect(kept.length).toBeGreaterThan(0);
    expect(JSON.stringify(kept)).not.toContain(secret);
  });
});
