/** Servers and gateways that are started again: what was judged or held before still counts. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createPeopleRuntime } from '../../../packages/cli/src/people-runtime.ts';
import type { OpenLedger } from '../../../packages/quittance/src/ledger/ledger.ts';
import type { ServerEntry } from '../../../packages/server/src/mcp-reviews/server-entry.ts';
import { createMcpGateway } from '../../../packages/mcp/src/gateway/create-gateway.ts';
import { openReviewDocuments } from '../../../packages/server/src/mcp-reviews/review-documents.ts';
import { ToolReviews } from '../../../packages/server/src/mcp-reviews/tool-reviews.ts';
import { createMemoryLedger } from '../../../packages/quittance/src/store/memory/memory-ledger.ts';
import { openLedger } from '../../../packages/quittance/src/store/open-ledger.ts';
import { ada, makeFolder, startGateway } from './start-gateway.ts';
import { startEffects } from './start-server.ts';

const textOf = (result: { content?: unknown }): string =>
  (result.content as { text?: string }[]).map(({ text = '' }) => text).join('');

async function approveAll(reviews: ToolReviews): Promise<void> {
  for (const { server, tools } of await reviews.list())
    for (const { listed, review } of tools)
      await reviews.approve({
        server: server.name,
        address: server.address,
        tool: listed.name,
        digest: review.digest,
        verdict: 'allow',
        mode: 'external',
        by: 'Grace',
      });
}

describe('a server that was started again', () => {
  it('is held to what a person approved, and knows the subscriptions and the log level of its client', async () => {
    const change = join(makeFolder(), 'change');
    const entry: ServerEntry = {
      name: 'hostile',
      isTrusted: false,
      tools: {},
      isDisabled: false,
      type: 'stdio',
      command: process.execPath,
      args: [join(import.meta.dirname, 'hostile-server.ts')],
      env: { HOSTILE_CHANGE: change },
    };
    const ledger = createMemoryLedger();
    const documents = openReviewDocuments({}, undefined);
    const readReviews = (): ToolReviews => new ToolReviews(documents, () => ledger.now());
    const { connect } = await startGateway([entry], { ledger, reviews: readReviews() });
    await approveAll(readReviews());
    const client = await connect('legacy');
    const call = async (name: string): Promise<string> =>
      textOf(await client.callTool({ name, arguments: {} }));
    await client.subscribeResource({ uri: 'file:///a' });
    await client.setLoggingLevel('warning');
    expect(await call('get_log_level')).toBe('warning');
    expect(await call('get_changing')).toBe('read');
    writeFileSync(change, '');
    await call('get_death');
    expect(await call('get_changing')).toMatch(/pending.*changed since it was approved/);
    expect(await call('get_subscriptions')).toBe('file:///a');
    expect(await call('get_log_level')).toBe('warning');
  });
});

/** A legacy client that can be asked, over the pipes of a gateway. */
async function connectOverStdio(
  entry: ServerEntry,
  ledger: OpenLedger,
): Promise<{ client: Client; leave: () => Promise<void> }> {
  const gateway = createMcpGateway({ config: { servers: [entry], observe: false }, ledger, version: '1' });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const serving = gateway.serveStdio({ caller: ada, stdin, stdout });
  const client = new Client(
    { name: 'desk', version: '1' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'legacy' } },
  );
  await client.connect(new StdioServerTransport(stdout, stdin));
  return {
    client,
    leave: async () => {
      await client.close();
      stdin.end();
      await serving;
      await gateway.close();
    },
  };
}

describe('a held call', () => {
  const approve = async (ledger: OpenLedger): Promise<void> => {
    const people = createPeopleRuntime(ledger);
    const [found] = (await people.confirmations.list({ status: 'pending' })).rows;
    const { confirmationId = '', inputDigest = '' } = found ?? {};
    await people.confirmations.decide(confirmationId, { decision: 'approve', by: 'Grace', inputDigest });
  };
  /** Holds a call in a gateway that then ends. Returns the ledger, opened again, and the id of the call. */
  async function holdAndEnd(entry: ServerEntry): Promise<{ ledger: OpenLedger; callId: string }> {
    const path = join(makeFolder(), 'ledger.db');
    const first = await openLedger(path);
    const ends: (() => Promise<void>)[] = [];
    const { connect } = await startGateway([entry], {
      ledger: first,
      onEnd: (end) => void ends.unshift(end),
    });
    const client = await connect('legacy', { name: 'desk' });
    const { call_id: callId } = JSON.parse(
      textOf(await client.callTool({ name: 'zorp', arguments: { n: 1 } })),
    ) as { call_id: string };
    for (const end of ends) await end();
    await first.close();
    const ledger = await openLedger(path);
    onTestFinished(() => ledger.close());
    return { ledger, callId };
  }

  it('goes on in the next gateway of a legacy client over stdio, which makes no call', async () => {
    const { entry, effects } = await startEffects();
    const { ledger } = await holdAndEnd(entry);
    await approve(ledger);
    const { leave } = await connectOverStdio(entry, ledger);
    await expect.poll(() => effects).toEqual(['zorp 1']);
    await leave();
  });

  it('stays held when its client is gone, which is not a cancellation', async () => {
    const { entry } = await startEffects();
    const ledger = createMemoryLedger();
    const { client, leave } = await connectOverStdio(entry, ledger);
    client.setRequestHandler('elicitation/create', () => new Promise(() => undefined));
    const calling = client.callTool({ name: 'zorp', arguments: { n: 1 } }).catch(String);
    const pending = async (): Promise<number> =>
      (await createPeopleRuntime(ledger).confirmations.list({ status: 'pending' })).rows.length;
    await expect.poll(pending).toBe(1);
    await leave();
    expect(await calling).toContain('closed');
    expect(await pending()).toBe(1);
  });

  it('goes on after answers about other tools have replaced the runtime that held it', async () => {
    const { entry, effects } = await startEffects();
    const { ledger, callId } = await holdAndEnd(entry);
    const documents = openReviewDocuments({}, undefined);
    const readReviews = (): ToolReviews => new ToolReviews(documents, () => ledger.now());
    const { connect } = await startGateway([entry], { ledger, reviews: readReviews() });
    const client = await connect('legacy', { name: 'desk' });
    const check = async (): Promise<string> =>
      textOf(await client.callTool({ name: 'check_call', arguments: { call_id: callId } }));
    expect(await check()).toContain('waits for a person');
    await approveAll(readReviews());
    await client.listTools(); // the answers count from now on
    await approve(ledger);
    await expect.poll(() => effects).toEqual(['zorp 1']);
    await expect.poll(check).toBe('zorped 1');
  });
});
