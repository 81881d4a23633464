import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../packages/quittance/src/base/deadlines.ts';
import type { ServerEntry } from '../../../packages/server/src/mcp-reviews/server-entry.ts';
import { createMemoryLedger } from '../../../packages/quittance/src/store/memory/memory-ledger.ts';
import { compileCache } from '../../frameworks/suite/package-arguments.ts';
import type { StartedGateway } from './start-gateway.ts';
import { startGateway } from './start-gateway.ts';
import { startEffects } from './start-server.ts';

const hostile: ServerEntry = {
  name: 'hostile',
  isTrusted: false,
  tools: {},
  isDisabled: false,
  type: 'stdio',
  command: process.execPath,
  args: [join(import.meta.dirname, 'hostile-server.ts')],
  env: compileCache,
};

const textOf = (result: { content?: unknown }): string =>
  (result.content as { text?: string }[]).map(({ text = '' }) => text).join('');

let started: StartedGateway;
let effects: readonly string[];
let passedMs = 0;
const logged: string[] = [];
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  const onEnd = (end: () => Promise<void>): void => void ends.unshift(end);
  const first = await startEffects({ name: 'first', onEnd });
  ({ effects } = first);
  const ledger = createMemoryLedger({ clock: { ...systemClock, now: () => Date.now() + passedMs } });
  started = await startGateway([first.entry, hostile], {
    ledger,
    onEnd,
    log: (_, line) => logged.push(line),
  });
});
afterAll(async () => {
  for (const end of ends) await end();
});

describe.each(['legacy', 'modern'] as const)('a server that breaks the protocol, for a %s client', (era) => {
  it('cannot answer twice, for another request, or out of order', async () => {
    const client = await started.connect(era);
    const call = async (name: string, n = 0): Promise<string> =>
      textOf(await client.callTool({ name: `hostile__${name}`, arguments: { n } }));
    expect(await call('get_twice')).toBe('first');
    expect(await call('get_for_others')).toBe('mine');
    expect(await Promise.all([call('get_out_of_order', 1), call('get_out_of_order', 2)])).toEqual([
      'answer 1',
      'answer 2',
    ]);
    expect(await call('get_noise')).toBe('after the noise');
    expect(started.gateway.status().servers[1]?.oddities).toBeGreaterThan(1);
  });

  it('cannot send what a client takes for a failure of a call that ran, or speak for the gateway', async () => {
    const client = await started.connect(era);
    const { content, structuredContent, _meta } = await client.callTool({
      name: 'hostile__get_odd_parts',
      arguments: {},
    });
    expect(content).toEqual([
      { type: 'text', text: '{"type":"video","url":"x"}' },
      { type: 'text', text: '{"type":"image","mimeType":"a/b","data":"not base64!"}' },
      { type: 'text', text: 'no part' },
      { type: 'text', text: 'null' },
    ]);
    expect(structuredContent).toEqual(era === 'modern' ? [1] : undefined);
    expect(_meta?.['quittance/outcome']).toBeUndefined();
  });

  it('cannot make a client wait with an answer that JSON-RPC does not allow', async () => {
    const client = await started.connect(era);
    const call = (name: string): ReturnType<typeof client.callTool> =>
      client.callTool({ name: `hostile__${name}`, arguments: {} }, { timeout: 240_000 });
    expect(textOf(await call('get_unreadable_result'))).toContain('not a tool result');
    await expect(call('get_unreadable_error')).rejects.toThrow('out of paper');
    expect(textOf(await call('get_text_id'))).toBe('under a text');
    expect(await call('get_odd_failure')).toMatchObject({ isError: true });
  });

  it('cannot have itself called without end by asking for nothing', async () => {
    const client = await started.connect(era);
    const name = 'hostile__get_asked_without_end';
    const asked = await client.callTool({ name, arguments: {} });
    expect(textOf(asked)).toContain('still asked for input after 10 rounds');
    const rounds = textOf(await client.callTool({ name: 'hostile__get_rounds', arguments: {} }));
    expect(rounds).toBe('11 rounds');
  });

  it('cannot put what it sent before into the reason why its connection ended', async () => {
    const client = await started.connect(era);
    await client.callTool({ name: 'hostile__get_noise', arguments: {} });
    passedMs += 600_000; // the connection was healthy
    const ended = await client.callTool({ name: 'hostile__get_death', arguments: {} });
    expect(textOf(ended)).toContain('ended before it answered.');
    expect(logged.at(-1)).toBe('The connection ended.');
  });

  it('cannot fill the context of a model with structured content that it did not promise', async () => {
    const client = await started.connect(era);
    const result = await client.callTool({ name: 'hostile__get_long_structured', arguments: {} });
    expect(textOf(result)).toContain('artifact_reference');
    expect(result.structuredContent).toBeUndefined();
  });

  it('cannot ask a client that did not say that it can be asked', async () => {
    const client = await started.connect(era);
    expect(textOf(await client.callTool({ name: 'hostile__get_question', arguments: {} }))).toBe(
      'answered with -32601',
    );
  });

  it('cannot make a client reject the tools of another server', async () => {
    const client = await started.connect(era);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    expect(names).toContain('hostile__get_without_schema');
    expect(names).not.toContain('hostile__get_wrong_description');
    expect(names).toContain('first__create_note');
  });

  it('cannot fill the memory: an answer that is too long ends its connection only', async () => {
    const client = await started.connect(era);
    passedMs += 600_000; // the connection that ends was healthy, so the server starts again at once
    const result = await client.callTool({ name: 'hostile__get_oversized', arguments: {} });
    expect(result.isError).toBe(true);
    expect(logged.join('\n')).toMatch(/line is longer than \d+ bytes/);
    expect(textOf(await client.callTool({ name: 'first__create_note', arguments: { text: era } }))).toBe(
      `noted ${era}`,
    );
    expect(effects).toContain(`note ${era}`);
    expect(textOf(await client.callTool({ name: 'hostile__get_twice', arguments: {} }))).toBe('first');
  });
});

describe.each(['legacy', 'modern'] as const)('a tool that must be a task, for a %s client', (era) => {
  it('is called like any other, and its task is made by the gateway', async () => {
    const client = await started.connect(era);
    const { tools } = await client.listTools();
    const shown = tools.find(({ name }) => name === 'hostile__get_as_task');
    expect(shown?.description).toBe('');
    expect(shown).not.toHaveProperty('execution');
    expect(textOf(await client.callTool({ name: 'hostile__get_as_task', arguments: {} }))).toBe(
      'result of task-1',
    );
  });
});

describe('names', () => {
  it('cannot be taken from another server, and tools that make no sense are left out', async () => {
    const client = await started.connect('legacy');
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names.filter((name) => name.endsWith('first__create_note'))).toEqual([
      'first__create_note',
      'hostile__first__create_note',
    ]);
    expect(names.filter((name) => name.startsWith('hostile__'))).not.toContain('hostile__7');
    await client.callTool({ name: 'first__create_note', arguments: { text: 'a' } });
    expect(effects).toContain('note a');
  });

  it.each([
    ['a', 'a__b'],
    ['a b', 'a_b'],
  ])('names of the servers %s and %s would collide, so the gateway does not start', async (one, two) => {
    await expect(startGateway([one, two].map((name) => ({ ...hostile, name })))).rejects.toThrow(
      'Rename one of them',
    );
  });
});
