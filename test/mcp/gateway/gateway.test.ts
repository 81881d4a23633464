import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { createPeopleRuntime } from '../../../src/cli/people-runtime.ts';
import { callsIn, effectServer, effectsIn, makeFolder, startGateway } from './start-gateway.ts';

const eras = ['legacy', 'modern'] as const;
/** Every pair of a client and a server. */
const pairs = eras.flatMap((client) =>
  [undefined, ...eras].map((server) => ({ client, server, speaks: server ?? 'both eras' })),
);

const textOf = (result: { content?: unknown }): string =>
  (result.content as { text?: string }[]).map(({ text = '' }) => text).join('');

const call = async (client: Client, name: string, args: object = {}, meta: object = {}): Promise<string> =>
  textOf(await client.callTool({ name, arguments: { ...args }, _meta: { ...meta } }));

describe.each(pairs)('a $client client and a server of $speaks', ({ client: era, server }) => {
  it('records the calls of tools and passes everything else on', async () => {
    const file = join(makeFolder(), 'effects');
    const { connect, ledger } = await startGateway([
      effectServer('notes', file, server === undefined ? {} : { era: server }),
    ]);
    const client = await connect(era);
    expect(client.getServerVersion()).toMatchObject({ name: 'effects' });
    expect(client.getInstructions()).toBe('Be careful.');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).join(' ')).toBe(
      'get_meta create_note zorp create_and_die create_slowly create_until_cancelled create_with_question get_long_text check_call read_artifact',
    );
    expect(await call(client, 'create_note', { text: 'a' })).toBe('noted a');
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: 'greet' }]);
    expect((await client.getPrompt({ name: 'greet' })).messages).toHaveLength(1);
    expect((await client.readResource({ uri: 'test://readme' })).contents).toMatchObject([
      { text: 'Read me' },
    ]);
    expect(effectsIn(file)).toEqual(['note a']);
    expect(await callsIn(ledger)).toEqual([['create_note', 'settled']]);
  });

  it('passes on trace context, and progress in order under the token of the client', async () => {
    const { connect, ledger } = await startGateway([
      effectServer('notes', join(makeFolder(), 'effects'), server === undefined ? {} : { era: server }),
    ]);
    const client = await connect(era);
    const trace = {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      other: { a: [1] },
    };
    expect(JSON.parse(await call(client, 'get_meta', {}, trace))).toMatchObject(trace);
    const [stored] = (await ledger.queries.findCalls({ limit: 1 })).rows;
    const read = await ledger.journal.readCall(stored?.sessionId ?? '', stored?.callId ?? '');
    expect(read?.events.find(({ type }) => type === 'tool.requested')).toMatchObject({
      traceparent: trace.traceparent,
    });
    const seen: number[] = [];
    await client.callTool(
      { name: 'create_slowly', arguments: {} },
      { onprogress: ({ progress }) => seen.push(progress) },
    );
    expect(seen).toEqual([1, 2, 3]);
  });

  it('puts a question of the server to the client, and runs the tool once', async () => {
    const file = join(makeFolder(), 'effects');
    const { connect, ledger } = await startGateway([
      effectServer('notes', file, server === undefined ? {} : { era: server }),
    ]);
    const client = await connect(era, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
    expect(await call(client, 'create_with_question')).toBe('hello Ada');
    expect(effectsIn(file)).toEqual(['hello Ada']);
    expect(await callsIn(ledger)).toEqual([['create_with_question', 'settled']]);
  });

  it('tells that the outcome is unknown when the server dies in the middle', async () => {
    const file = join(makeFolder(), 'effects');
    const { connect, ledger } = await startGateway([
      effectServer('notes', file, server === undefined ? {} : { era: server }),
    ]);
    const client = await connect(era);
    const result = await client.callTool({ name: 'create_and_die', arguments: {} });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('do not repeat it');
    const { rows } = await createPeopleRuntime(ledger).calls.unresolved();
    expect(rows).toHaveLength(1);
    // The server is started again for the next call. The same call is held: it may have happened.
    expect(await call(client, 'create_note', { text: 'b' })).toBe('noted b');
    expect(textOf(await client.callTool({ name: 'create_and_die', arguments: {} }))).toContain('pending');
    expect(effectsIn(file)).toEqual(['died', 'note b']);
  });

  it('cancels a running call at the server, and does not claim that nothing happened', async () => {
    const file = join(makeFolder(), 'effects');
    const { connect, ledger } = await startGateway([
      effectServer('notes', file, server === undefined ? {} : { era: server }),
    ]);
    const client = await connect(era);
    const cancel = new AbortController();
    const calling = client.callTool(
      { name: 'create_until_cancelled', arguments: {} },
      { signal: cancel.signal },
    );
    await expect.poll(() => effectsIn(file)).toEqual(['waiting']);
    cancel.abort();
    await expect(calling).rejects.toThrow('abort');
    await expect.poll(() => effectsIn(file)).toEqual(['waiting', 'cancelled']);
    await expect
      .poll(() => callsIn(ledger))
      .toEqual([['create_until_cancelled', 'settled', 'tool.indeterminate']]);
    const { rows } = await createPeopleRuntime(ledger).calls.unresolved();
    expect(rows).toHaveLength(1);
  });
});

describe('the identity of a call', () => {
  it.each(eras)('gives a %s client the recorded result for a repeated id', async (era) => {
    const file = join(makeFolder(), 'effects');
    const { connect } = await startGateway([effectServer('notes', file)]);
    const [first, second] = [await connect(era), await connect(era)];
    const meta = { 'claudecode/toolUseId': 'toolu_1' };
    expect(await call(first, 'create_note', { text: 'a' }, meta)).toBe('noted a');
    expect(await call(second, 'create_note', { text: 'a' }, meta)).toBe('noted a');
    expect(await call(second, 'create_note', { text: 'other' }, meta)).toContain('Nothing ran');
    expect(effectsIn(file)).toEqual(['note a']);
  });

  it('takes two requests without an id for two calls', async () => {
    const file = join(makeFolder(), 'effects');
    const { connect } = await startGateway([effectServer('notes', file)]);
    const client = await connect('modern');
    await call(client, 'create_note', { text: 'a' });
    await call(client, 'create_note', { text: 'a' });
    expect(effectsIn(file)).toEqual(['note a', 'note a']);
  });
});

describe('a question of a legacy server outside of a tool', () => {
  it('reaches a modern client, which answers it in a new request', async () => {
    const file = join(makeFolder(), 'effects');
    const { connect } = await startGateway([effectServer('notes', file, { era: 'legacy', asks: true })]);
    const client = await connect('modern', { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
    const { messages } = await client.getPrompt({ name: 'greet_by_name' });
    expect(JSON.stringify(messages)).toContain('Hello Ada');
    const { contents } = await client.readResource({ uri: 'test://letter' });
    expect(JSON.stringify(contents)).toContain('Dear Ada');
  });
});

describe('an argument that is configured as idempotency key', () => {
  it.each(eras)('makes two requests of a %s client with the same value one call', async (era) => {
    const file = join(makeFolder(), 'effects');
    const tools = { create_note: { idempotencyKey: 'text' } };
    const { connect } = await startGateway([effectServer('notes', file, { tools })]);
    const [first, second] = [await connect(era), await connect(era)];
    expect(await call(first, 'create_note', { text: 'a' })).toBe('noted a');
    expect(await call(second, 'create_note', { text: 'a' })).toBe('noted a');
    expect(await call(second, 'create_note', { text: 'b' })).toBe('noted b');
    expect(effectsIn(file)).toEqual(['note a', 'note b']);
  });
});

describe('several servers', () => {
  it('prefixes names with the key of the configuration, and keeps other servers up when one is down', async () => {
    const [one, two] = [join(makeFolder(), 'effects'), join(makeFolder(), 'effects')];
    const { connect, gateway } = await startGateway([
      effectServer('first', one),
      { ...effectServer('broken', one), type: 'stdio', command: '/does/not/exist', args: [], env: {} },
      effectServer('second', two),
    ]);
    const client = await connect('legacy');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('first__create_note');
    expect(await call(client, 'second__create_note', { text: 'b' })).toBe('noted b');
    expect([effectsIn(one), effectsIn(two)]).toEqual([[], ['note b']]);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual([
      'first__greet',
      'second__greet',
    ]);
    expect((await client.getPrompt({ name: 'second__greet' })).messages).toHaveLength(1);
    expect(gateway.status().servers).toMatchObject([
      { name: 'first', status: 'ready' },
      { name: 'broken', status: 'failed' },
      { name: 'second', status: 'ready' },
    ]);
  });
});

describe('a tool that nothing is known about', () => {
  it.each(eras)('waits for a person, and a %s client learns what became of it', async (era) => {
    const file = join(makeFolder(), 'effects');
    const { connect, ledger } = await startGateway([effectServer('notes', file)]);
    const client = await connect(era);
    const held = JSON.parse(await call(client, 'zorp', { n: 1 })) as { status: string; call_id: string };
    expect(held.status).toBe('pending');
    expect(await call(client, 'check_call', { call_id: held.call_id })).toContain('pending');
    const people = createPeopleRuntime(ledger);
    const { rows } = await people.confirmations.list({ status: 'pending' });
    expect(rows).toMatchObject([{ toolName: 'zorp', mode: 'external' }]);
    const [{ confirmationId, inputDigest }] = rows as [(typeof rows)[number]];
    await people.confirmations.decide(confirmationId, { decision: 'approve', by: 'Grace', inputDigest });
    await expect.poll(() => call(client, 'check_call', { call_id: held.call_id })).toBe('zorped 1');
    expect(effectsIn(file)).toEqual(['zorp 1']);
  });

  it('runs in observe mode, and the record says that it would have asked', async () => {
    const file = join(makeFolder(), 'effects');
    const { connect, ledger } = await startGateway([effectServer('notes', file)], { observe: true });
    const client = await connect('legacy');
    expect(await call(client, 'zorp', { n: 1 })).toBe('zorped 1');
    const [row] = (await ledger.queries.findCalls({})).rows;
    const people = createPeopleRuntime(ledger);
    const [recorded] = await people.calls.list({ sessionId: row?.sessionId ?? '' });
    expect(recorded?.attrs).toMatchObject({ mcp: { server: 'notes' } });
    const events = await people.events.list({ sessionId: row?.sessionId ?? '' });
    const rule = { ruleId: 'mcp-tool-not-reviewed', action: 'ask', observed: true };
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'tool.decided', rules: [expect.objectContaining(rule)] }),
    );
  });
});
