import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createPeopleRuntime } from '../../../packages/cli/src/people-runtime.ts';
import { systemClock } from '../../../packages/quittance/src/base/deadlines.ts';
import { createMemoryLedger } from '../../../packages/quittance/src/store/memory/memory-ledger.ts';
import type { StartedGateway } from './start-gateway.ts';
import { callsIn, effectServer, effectsIn, makeFolder, sessionOf, startGateway } from './start-gateway.ts';
import { startEffects } from './start-server.ts';
import { findCalls } from '../../../packages/quittance/src/ledger/reads.ts';

const eras = ['legacy', 'modern'] as const;
const canBeAsked = { capabilities: { elicitation: { form: {} } } };

const textOf = (result: { content?: unknown }): string =>
  (result.content as { text?: string }[]).map(({ text = '' }) => text).join('');

const call = async (client: Client, name: string, args: object = {}, meta: object = {}): Promise<string> =>
  textOf(await client.callTool({ name, arguments: { ...args }, _meta: { ...meta } }));

/** Every pair of a client and a server in its own process. The clients of one server share a gateway. */
describe.each([undefined, ...eras])('a server of one era (%s) or of both', (server) => {
  const file = join(makeFolder(), 'effects');
  const ends: (() => Promise<void>)[] = [];
  let passedMs = 0;
  let started: StartedGateway;
  const clients = new Map<string, Client>();
  beforeAll(async () => {
    const ledger = createMemoryLedger({ clock: { ...systemClock, now: () => Date.now() + passedMs } });
    const entry = effectServer('notes', file, server === undefined ? {} : { era: server });
    started = await startGateway([entry], { ledger, onEnd: (end) => ends.unshift(end) });
    await Promise.all(eras.map(async (era) => clients.set(era, await started.connect(era, { name: era }))));
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });
  let seen = 0;
  beforeEach(() => {
    seen = effectsIn(file).length;
  });
  /** The effects of this test. */
  const effects = (): readonly string[] => effectsIn(file).slice(seen);
  const clientOf = (era: string): Client => {
    const client = clients.get(era);
    if (client === undefined) throw new Error(`No ${era} client is connected.`);
    return client;
  };
  const unresolved = async (era: string): Promise<readonly string[]> =>
    (await createPeopleRuntime(started.ledger).calls.unresolved()).rows
      .filter(({ sessionId }) => sessionId.startsWith(sessionOf(era)))
      .map(({ toolName }) => toolName);

  it.each(eras)('records the calls of a %s client and passes everything else on', async (era) => {
    const client = clientOf(era);
    expect(client.getServerVersion()).toMatchObject({ name: 'notes' });
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
    expect(effects()).toEqual(['note a']);
    expect(await callsIn(started.ledger, era)).toEqual([['create_note', 'settled']]);
  });

  it.each(eras)('gets trace context from a %s client, and reports progress in order', async (era) => {
    const { ledger } = started;
    const client = clientOf(era);
    const trace = {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      other: { a: [1] },
    };
    expect(JSON.parse(await call(client, 'get_meta', {}, trace))).toMatchObject(trace);
    const [stored] = (await findCalls(ledger, { limit: 1 })).rows;
    const read = await ledger.readCall(stored?.sessionId ?? '', stored?.callId ?? '');
    expect(read?.events.find(({ type }) => type === 'tool.requested')).toMatchObject({
      traceparent: trace.traceparent,
    });
    const progressed: number[] = [];
    await client.callTool(
      { name: 'create_slowly', arguments: {} },
      { onprogress: ({ progress }) => progressed.push(progress) },
    );
    expect(progressed).toEqual([1, 2, 3]);
  });

  it.each(eras)('puts its question to a %s client, and runs the tool once', async (era) => {
    const client = await started.connect(era, { name: `${era}-asked`, ...canBeAsked });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
    expect(await call(client, 'create_with_question')).toBe('hello Ada');
    expect(effects()).toEqual(['hello Ada']);
    expect(await callsIn(started.ledger, `${era}-asked`)).toEqual([['create_with_question', 'settled']]);
  });

  it.each(eras)('may have taken effect when a %s client cancels its call', async (era) => {
    const cancel = new AbortController();
    const calling = clientOf(era).callTool(
      { name: 'create_until_cancelled', arguments: {} },
      { signal: cancel.signal },
    );
    calling.catch(() => undefined); // checked below
    await expect.poll(effects).toEqual(['waiting']);
    cancel.abort();
    await expect(calling).rejects.toThrow('abort');
    await expect.poll(effects).toEqual(['waiting', 'cancelled']);
    await expect
      .poll(async () => (await callsIn(started.ledger, era)).at(-1))
      .toEqual(['create_until_cancelled', 'settled', 'tool.indeterminate']);
    expect(await unresolved(era)).toEqual(['create_until_cancelled']);
  });

  it.each(eras)(
    'dies in the middle of a call, and a %s client learns that its effect is unknown',
    async (era) => {
      passedMs += 600_000; // the connection that ends was healthy, so the server starts again at once
      const client = clientOf(era);
      const result = await client.callTool({ name: 'create_and_die', arguments: {} });
      expect(result.isError).toBe(true);
      expect(textOf(result)).toContain('do not repeat it');
      expect(await unresolved(era)).toContain('create_and_die');
      // The server is started again for the next call. The same call is held: it may have happened.
      expect(await call(client, 'create_note', { text: 'b' })).toBe('noted b');
      expect(textOf(await client.callTool({ name: 'create_and_die', arguments: {} }))).toContain('pending');
      expect(effects()).toEqual(['died', 'note b']);
    },
  );
});

describe('the identity of a call', () => {
  it.each(eras)('gives a %s client the recorded result for a repeated id', async (era) => {
    const { entry, effects } = await startEffects();
    const { connect } = await startGateway([entry]);
    const [first, second] = [await connect(era), await connect(era)];
    const meta = { 'claudecode/toolUseId': 'toolu_1' };
    expect(await call(first, 'create_note', { text: 'a' }, meta)).toBe('noted a');
    expect(await call(second, 'create_note', { text: 'a' }, meta)).toBe('noted a');
    expect(await call(second, 'create_note', { text: 'other' }, meta)).toContain('Nothing ran');
    expect(effects).toEqual(['note a']);
  });

  it('takes two requests without an id for two calls', async () => {
    const { entry, effects } = await startEffects();
    const { connect } = await startGateway([entry]);
    const client = await connect('modern');
    await call(client, 'create_note', { text: 'a' });
    await call(client, 'create_note', { text: 'a' });
    expect(effects).toEqual(['note a', 'note a']);
  });
});

describe('a question of a legacy server outside of a tool', () => {
  it('reaches a modern client, which answers it in a new request', async () => {
    const { entry } = await startEffects({ era: 'legacy', asks: true });
    const { connect } = await startGateway([entry]);
    const client = await connect('modern', canBeAsked);
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
    const { messages } = await client.getPrompt({ name: 'greet_by_name' });
    expect(JSON.stringify(messages)).toContain('Hello Ada');
    const { contents } = await client.readResource({ uri: 'test://letter' });
    expect(JSON.stringify(contents)).toContain('Dear Ada');
  });

  // The modern protocol has questions only for tools, prompts and resources.
  it.each([
    ['legacy', 'Ada'],
    ['modern', 'no answer came'],
  ] as const)(
    'a question of a legacy server outside of a tool during a completion reaches a legacy client only (%s: %s)',
    async (era, completed) => {
      const { entry } = await startEffects({ era: 'legacy', asks: true });
      const { connect } = await startGateway([entry]);
      const client = await connect(era, canBeAsked);
      client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
      const ref = { type: 'ref/prompt' as const, name: 'greet_by_name' };
      const { completion } = await client.complete({ ref, argument: { name: 'x', value: '' } });
      expect(completion.values).toEqual([completed]);
    },
  );
});

describe('an argument that is configured as idempotency key', () => {
  it.each(eras)('makes two requests of a %s client with the same value one call', async (era) => {
    const { entry, effects } = await startEffects({ tools: { create_note: { idempotencyKey: 'text' } } });
    const { connect } = await startGateway([entry]);
    const [first, second] = [await connect(era), await connect(era)];
    expect(await call(first, 'create_note', { text: 'a' })).toBe('noted a');
    expect(await call(second, 'create_note', { text: 'a' })).toBe('noted a');
    expect(await call(second, 'create_note', { text: 'b' })).toBe('noted b');
    expect(effects).toEqual(['note a', 'note b']);
  });
});

describe('several servers', () => {
  it('prefixes names with the key of the configuration, and keeps other servers up when one is down', async () => {
    const [one, two] = [await startEffects({ name: 'first' }), await startEffects({ name: 'second' })];
    const { connect, gateway } = await startGateway([
      one.entry,
      { ...one.entry, name: 'broken', type: 'stdio', command: '/does/not/exist', args: [], env: {} },
      two.entry,
    ]);
    const client = await connect('legacy');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('first__create_note');
    expect(await call(client, 'second__create_note', { text: 'b' })).toBe('noted b');
    expect([one.effects, two.effects]).toEqual([[], ['note b']]);
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

describe('a server that cannot be started', () => {
  it('is tried less and less often, and tells when it is tried next', async () => {
    let passedMs = 0;
    const startMs = Date.now();
    // Stands still: on a busy machine, seconds pass between two lines.
    const now = (): number => startMs + passedMs;
    const ledger = createMemoryLedger({ clock: { ...systemClock, now } });
    const { entry, effects } = await startEffects({ name: 'well' });
    const broken = {
      ...entry,
      name: 'broken',
      type: 'stdio',
      command: '/does/not/exist',
      args: [],
      env: {},
    } as const;
    const { connect, gateway } = await startGateway([entry, broken], { ledger });
    const client = await connect('modern');
    const waits: number[] = [];
    for (let tries = 0; tries < 12; tries++) {
      await expect(client.callTool({ name: 'broken__x', arguments: {} })).rejects.toThrow('Unknown tool');
      const { failures = 0, retryAt } = gateway.status().servers[1] ?? {};
      // Within the pause it is not started again.
      await expect(client.callTool({ name: 'broken__x', arguments: {} })).rejects.toThrow('Unknown tool');
      const more = (gateway.status().servers[1]?.failures ?? 0) - failures;
      expect(retryAt === undefined ? 0 : more).toBe(0);
      waits.push(Math.round(((retryAt ?? now()) - now()) / 1_000));
      passedMs += 61_000;
    }
    expect(waits.slice(-3)).toEqual([60, 60, 60]);
    expect(waits).toEqual(waits.toSorted((one, other) => one - other));
    expect(await call(client, 'well__create_note', { text: 'a' })).toBe('noted a');
    expect(effects).toEqual(['note a']);
  });
});

describe('a tool that does not answer', () => {
  it.each(eras)(
    'ends after an hour, is cancelled at the server, and may have taken effect (%s)',
    async (era) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
      onTestFinished(() => void vi.useRealTimers());
      const { entry, effects } = await startEffects();
      const { connect, ledger } = await startGateway([entry]);
      const client = await connect(era);
      const calling = client.callTool(
        { name: 'create_until_cancelled', arguments: {} },
        { timeout: 7_200_000 },
      );
      await expect.poll(() => effects).toEqual(['waiting']);
      vi.advanceTimersByTime(3_600_000);
      const result = await calling;
      expect(result).toMatchObject({
        isError: true,
        _meta: { 'quittance/outcome': { type: 'ToolTimeout' } },
      });
      await expect.poll(() => effects).toEqual(['waiting', 'cancelled']);
      const { rows } = await createPeopleRuntime(ledger).calls.unresolved();
      expect(rows.map(({ toolName }) => toolName)).toEqual(['create_until_cancelled']);
    },
  );
});

describe('a tool that nothing is known about', () => {
  it.each(eras)('waits for a person, and a %s client learns what became of it', async (era) => {
    const { entry, effects } = await startEffects();
    const { connect, ledger } = await startGateway([entry]);
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
    expect(effects).toEqual(['zorp 1']);
  });

  it('runs in observe mode, and the record says that it would have asked', async () => {
    const { entry } = await startEffects();
    const { connect, ledger } = await startGateway([entry], { observe: true });
    const client = await connect('legacy');
    expect(await call(client, 'zorp', { n: 1 })).toBe('zorped 1');
    const [row] = (await findCalls(ledger, {})).rows;
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
