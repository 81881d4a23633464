import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ServerEntry } from '../../../src/mcp/config/server-entry.ts';
import { effectServer, effectsIn, makeFolder, startGateway } from './start-gateway.ts';

const hostile: ServerEntry = {
  name: 'hostile',
  isTrusted: false,
  tools: {},
  isDisabled: false,
  type: 'stdio',
  command: process.execPath,
  args: ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'hostile-server.ts')],
  env: {},
};

const textOf = (result: { content?: unknown }): string =>
  (result.content as { text?: string }[]).map(({ text = '' }) => text).join('');

describe.each(['legacy', 'modern'] as const)('a server that breaks the protocol, for a %s client', (era) => {
  it('cannot answer twice, for another request, or out of order', async () => {
    const { connect, gateway } = await startGateway([hostile]);
    const client = await connect(era);
    const call = async (name: string, n = 0): Promise<string> =>
      textOf(await client.callTool({ name, arguments: { n } }));
    expect(await call('get_twice')).toBe('first');
    expect(await call('get_for_others')).toBe('mine');
    expect(await Promise.all([call('get_out_of_order', 1), call('get_out_of_order', 2)])).toEqual([
      'answer 1',
      'answer 2',
    ]);
    expect(await call('get_noise')).toBe('after the noise');
    const [status] = gateway.status().servers;
    expect(status?.oddities).toBeGreaterThan(1);
  });

  it('cannot fill the memory: an answer that is too long ends its connection only', async () => {
    const file = join(makeFolder(), 'effects');
    const { connect } = await startGateway([hostile, effectServer('notes', file)]);
    const client = await connect(era);
    const result = await client.callTool({ name: 'hostile__get_oversized', arguments: {} });
    expect(result.isError).toBe(true);
    expect(textOf(await client.callTool({ name: 'notes__create_note', arguments: { text: 'a' } }))).toBe(
      'noted a',
    );
    expect(textOf(await client.callTool({ name: 'hostile__get_twice', arguments: {} }))).toBe('first');
  });
});

describe('names', () => {
  it('cannot be taken from another server, and tools that make no sense are left out', async () => {
    const file = join(makeFolder(), 'effects');
    const { connect } = await startGateway([effectServer('first', file), hostile]);
    const client = await connect('legacy');
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names.filter((name) => name.endsWith('first__create_note'))).toEqual([
      'first__create_note',
      'hostile__first__create_note',
    ]);
    expect(names.filter((name) => name.startsWith('hostile__'))).not.toContain('hostile__7');
    await client.callTool({ name: 'first__create_note', arguments: { text: 'a' } });
    expect(effectsIn(file)).toEqual(['note a']);
  });

  it.each([
    ['a', 'a__b'],
    ['a b', 'a_b'],
  ])('of the servers %s and %s would collide, so the gateway does not start', async (one, two) => {
    const file = join(makeFolder(), 'effects');
    await expect(startGateway([effectServer(one, file), effectServer(two, file)])).rejects.toThrow(
      'Rename one of them',
    );
  });
});
