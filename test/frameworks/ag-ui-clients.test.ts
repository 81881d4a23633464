/** CopilotKit and assistant-ui, with an agent behind AG-UI on a local port: what they show and send. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool, ToolDecision } from 'quittance';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { findPort } from '../find-port.ts';
import type { AgUiClient, ConnectAgUi, PageTool } from './harnesses/ag-ui-client.ts';
import type { AgUiServer, AgUiThread } from './harnesses/ag-ui-server.ts';
import { serveAgUi } from './harnesses/ag-ui-server.ts';
import { connectAssistantUi } from './harnesses/assistant-ui-client.ts';
import { connectCopilotKit } from './harnesses/copilotkit-client.ts';
import type { Script } from './suite/harness.ts';
import type { agUiClients } from './suite/matrix-cells.ts';
import { clientCells, refuseMissingTests } from './suite/matrix-cells.ts';

const sessionId = 'thread-1';
const done: Script = [{ text: 'Done.' }];
const call = (id: string, name: string, args: Readonly<Record<string, unknown>> = {}) => ({
  id,
  name,
  arguments: args,
});

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const clients: readonly (readonly [name: (typeof agUiClients)[number], connect: ConnectAgUi])[] = [
  ['CopilotKit', connectCopilotKit],
  ['assistant-ui', connectAssistantUi],
];

describe.for(clients)('%s', ([name, connect]) => {
  const pay = vi.fn<(cents: number) => unknown>();
  const tools = [
    defineTool({ name: 'weigh', description: 'Weighs.', mode: 'read', run: () => ({ grams: 12 }) }),
    defineTool({
      name: 'fall',
      description: 'Falls.',
      mode: 'read',
      run: () => {
        throw new Error('It fell.');
      },
    }),
    defineTool({ name: 'wipe', description: 'Wipes.', mode: 'read', run: () => 'wiped' }),
    defineTool({
      name: 'pay',
      description: 'Pays.',
      mode: 'destructive',
      input: z.object({ cents: z.number() }),
      run: ({ cents }) => pay(cents),
    }),
  ];

  type Staged = { readonly client: AgUiClient; readonly server: AgUiServer; readonly thread: AgUiThread };

  function makeRuntime(ledger: OpenLedger = createMemoryLedger()) {
    pay.mockReset().mockImplementation((cents) => ({ paid: cents }));
    return createRuntime({
      tools,
      ledger,
      onPreToolUse: ({ toolName }) =>
        toolName === 'wipe' ? ToolDecision.block('Not on a Sunday.') : ToolDecision.allow,
    });
  }

  async function stage(script: Script, pageTools: readonly PageTool[] = []): Promise<Staged> {
    const thread: AgUiThread = { rounds: [], told: [] };
    const server = await serveAgUi({ runtime: makeRuntime(), script, sessionId, thread, person: 'grace' });
    closing.push(() => server.close());
    const client = await connect({ url: server.url, threadId: sessionId, pageTools });
    closing.push(() => client.close());
    return { client, server, thread };
  }

  test('every cell of the adapter matrix for this client is a test here', ({ task }) => {
    expect(() => refuseMissingTests(clientCells(name), task.file.tasks)).not.toThrow();
  });

  test('shows the recorded results of a success, a failure and a blocked call', async () => {
    const { client, thread } = await stage([
      { calls: [call('c1', 'weigh'), call('c2', 'fall'), call('c3', 'wipe')] },
      ...done,
    ]);
    await client.say('Go.');
    expect(client.lastText()).toBe('Done.');
    expect(client.asked()).toEqual([]);
    const told = thread.told.map(({ callId, texts }) => [callId, JSON.parse(texts[0] ?? '') as unknown]);
    expect(['c1', 'c2', 'c3'].map((id) => [id, ...client.results(id)])).toEqual(told);
    expect(client.results('c1')).toEqual([{ grams: 12 }]);
    expect(client.results('c2')).toEqual([
      expect.objectContaining({ error: expect.stringContaining('It fell.') as string }),
    ]);
    expect(client.results('c3')).toEqual([{ error: 'Blocked: Not on a Sunday.', blocked: true }]);
  });

  test('a held call is asked about, runs once it is approved, and has one result', async () => {
    const { client, server } = await stage([{ calls: [call('c1', 'pay', { cents: 5 })] }, ...done]);
    await client.say('Go.');
    expect([client.asked(), client.results('c1'), pay.mock.calls]).toEqual([['c1'], [], []]);
    expect(client.shownCall('c1')).toEqual({ name: 'pay', args: { cents: 5 } });
    await client.answer(() => true);
    expect(server.taken.map(({ status }) => status)).toEqual(['approved']);
    expect([client.asked(), client.lastText(), pay.mock.calls]).toEqual([[], 'Done.', [[5]]]);
    expect(client.results('c1')).toEqual([{ paid: 5 }]);
  });

  test('a denial with its reason is the result, and nothing runs', async () => {
    const { client, server } = await stage([{ calls: [call('c1', 'pay', { cents: 5 })] }, ...done]);
    await client.say('Go.');
    await client.answer(() => false, 'Too much.');
    expect(server.taken.map(({ status }) => status)).toEqual(['denied']);
    expect([client.lastText(), pay.mock.calls]).toEqual(['Done.', []]);
    expect(client.results('c1')).toEqual([
      expect.objectContaining({ blocked: true, error: expect.stringContaining('Too much.') as string }),
    ]);
  });

  test('answers to two held calls of one message are not mixed up', async () => {
    const { client } = await stage([
      { calls: [call('c1', 'pay', { cents: 5 }), call('c2', 'pay', { cents: 7 })] },
      ...done,
    ]);
    await client.say('Go.');
    expect(client.asked().toSorted()).toEqual(['c1', 'c2']);
    await client.answer((callId) => callId === 'c2');
    expect(pay.mock.calls).toEqual([[7]]);
    expect(client.results('c1')).toEqual([expect.objectContaining({ blocked: true })]);
    expect(client.results('c2')).toEqual([{ paid: 7 }]);
  });

  test('a restarted server continues with the answer, on the same ledger file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-ag-ui-'));
    closing.push(() => rmSync(folder, { recursive: true, force: true }));
    const thread: AgUiThread = { rounds: [], told: [] };
    const script: Script = [{ calls: [call('c1', 'pay', { cents: 5 })] }, ...done];
    const port = await findPort();
    const start = async () => {
      const ledger = await openLedger(join(folder, 'ledger.db'));
      const runtime = makeRuntime(ledger);
      const server = await serveAgUi({ runtime, script, sessionId, thread, person: 'grace', port });
      const stop = async (): Promise<void> => {
        await server.close();
        await runtime.close();
        await ledger.close();
      };
      return { server, stop };
    };
    const before = await start();
    const client = await connect({ url: before.server.url, threadId: sessionId });
    closing.push(() => client.close());
    await client.say('Go.');
    await before.stop();
    const after = await start();
    closing.push(after.stop);
    await client.answer(() => true);
    expect(after.server.taken.map(({ status }) => status)).toEqual(['approved']);
    expect([client.results('c1'), pay.mock.calls]).toEqual([[{ paid: 5 }], [[5]]]);
  });

  test('a tool of the page with the name of a governed tool decides nothing and adds no result', async () => {
    const inPage = vi.fn<PageTool['run']>(async () => ({ paid: 'in the page' }));
    const { client, server } = await stage(
      [{ calls: [call('c1', 'pay', { cents: 5 })] }, ...done],
      [{ name: 'pay', run: inPage }],
    );
    // CopilotKit runs the tool of the page, and its client refuses to start a run for the result.
    await client.say('Go.').catch(() => undefined);
    expect([pay.mock.calls, server.taken, client.asked()]).toEqual([[], [], ['c1']]);
    await client.answer(() => true);
    expect(pay.mock.calls).toEqual([[5]]);
    expect(client.results('c1')).toEqual([{ paid: 5 }]);
  });
});
