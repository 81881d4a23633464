import { join } from 'node:path';
import type { ClientCapabilities } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { createPeopleRuntime } from '../../../src/cli/people-runtime.ts';
import type { Ledger } from '../../../src/ledger/ledger.ts';
import { callsIn, effectServer, effectsIn, makeFolder, startGateway } from './start-gateway.ts';

const eras = ['legacy', 'modern'] as const;
const elicits: ClientCapabilities = { elicitation: { form: {} } };

const textOf = (result: { content?: unknown }): string =>
  (result.content as { text?: string }[]).map(({ text = '' }) => text).join('');

async function approve(ledger: Ledger, decision: 'approve' | 'deny' = 'approve'): Promise<void> {
  const people = createPeopleRuntime(ledger);
  const find = async () => (await people.confirmations.list({ status: 'pending' })).rows[0];
  await expect.poll(find).toBeDefined();
  const { confirmationId = '', inputDigest = '' } = (await find()) ?? {};
  await people.confirmations.decide(confirmationId, { decision, by: 'Grace', inputDigest });
}

describe.each(eras)('a held call of a %s client that can be asked', (era) => {
  it('waits for the decision of another person: accepting the question does not approve', async () => {
    const file = join(makeFolder(), 'effects');
    const { connect, ledger } = await startGateway([effectServer('notes', file)], {
      consoleUrl: 'http://127.0.0.1:4747',
    });
    const client = await connect(era, { capabilities: elicits });
    const asked: string[] = [];
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params.message);
      // A client that tries to decide is not heard.
      return { action: 'accept', content: { decision: 'approve' } };
    });
    const calling = client.callTool({ name: 'zorp', arguments: { n: 1 } });
    await expect.poll(() => asked.length).toBe(1);
    expect(asked[0]).toContain('http://127.0.0.1:4747/');
    expect(effectsIn(file)).toEqual([]);
    await approve(ledger);
    expect(textOf(await calling)).toBe('zorped 1');
    expect(effectsIn(file)).toEqual(['zorp 1']);
  });

  it('stays held when the client does not wait', async () => {
    const file = join(makeFolder(), 'effects');
    const { connect, ledger } = await startGateway([effectServer('notes', file)]);
    const client = await connect(era, { capabilities: elicits });
    client.setRequestHandler('elicitation/create', () => ({ action: 'decline' }));
    const result = await client.callTool({ name: 'zorp', arguments: { n: 1 } });
    expect(JSON.parse(textOf(result))).toMatchObject({ status: 'pending' });
    expect(await callsIn(ledger)).toEqual([['zorp', 'held']]);
    await approve(ledger);
    await expect.poll(() => effectsIn(file)).toEqual(['zorp 1']);
  });

  it.each(['approve', 'deny'] as const)('may %s in the client if the tool says so', async (decision) => {
    const file = join(makeFolder(), 'effects');
    const { connect, ledger } = await startGateway([
      effectServer('notes', file, { tools: { zorp: { ask: 'in_client' } } }),
    ]);
    const client = await connect(era, { capabilities: elicits });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { decision } }));
    const result = await client.callTool({ name: 'zorp', arguments: { n: 1 } });
    expect(textOf(result)).toContain(decision === 'approve' ? 'zorped 1' : 'said no');
    expect(effectsIn(file)).toEqual(decision === 'approve' ? ['zorp 1'] : []);
    const { rows } = await createPeopleRuntime(ledger).confirmations.list();
    expect(rows[0]?.by).toMatchObject({
      type: 'person',
      name: 'ada (in probe)',
      identity: { kind: 'self_asserted' },
    });
  });
});

describe('a held call as a task', () => {
  it('completes with the result, and only its own caller finds it', async () => {
    const file = join(makeFolder(), 'effects');
    const { url, ledger } = await startGateway([effectServer('notes', file)]);
    const post = async (method: string, params: object): Promise<Record<string, unknown>> => {
      const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
      const { name, taskId } = params as { name?: string; taskId?: string };
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          'mcp-name': name ?? taskId ?? '',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method,
          params: {
            ...params,
            _meta: {
              'io.modelcontextprotocol/protocolVersion': '2026-07-28',
              'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
              'io.modelcontextprotocol/clientCapabilities': capabilities,
            },
          },
        }),
      });
      return (await response.json()) as Record<string, unknown>;
    };
    const { result: task } = (await post('tools/call', { name: 'zorp', arguments: { n: 2 } })) as {
      result: { resultType: string; taskId: string; status: string };
    };
    expect(task).toMatchObject({ resultType: 'task', status: 'working' });
    await approve(ledger);
    const status = async (): Promise<unknown> =>
      ((await post('tasks/get', { taskId: task.taskId })) as { result: { status: string } }).result.status;
    await expect.poll(status).toBe('completed');
    expect(await post('tasks/get', { taskId: task.taskId })).toMatchObject({
      result: { result: { content: [{ text: 'zorped 2' }] } },
    });
    const forged = `${task.taskId.slice(0, -2)}xx`;
    expect(await post('tasks/get', { taskId: forged })).toMatchObject({ error: { code: -32_602 } });
    expect(effectsIn(file)).toEqual(['zorp 2']);
  });
});

describe('the state of a question', () => {
  it('counts only for the request that it was given for', async () => {
    const file = join(makeFolder(), 'effects');
    const { connect } = await startGateway([effectServer('notes', file)]);
    const client = await connect('modern', { capabilities: elicits, inputRequired: { autoFulfill: false } });
    const ask = async (params: object): Promise<{ resultType?: string; requestState?: string }> =>
      (await client.callTool({ name: 'zorp', arguments: { n: 3 }, ...params } as never, {
        allowInputRequired: true,
      })) as never;
    const { resultType, requestState = '' } = await ask({});
    expect(resultType).toBe('input_required');
    for (const params of [
      { requestState: `${requestState.slice(0, -2)}xx` },
      { requestState, arguments: { n: 4 } },
      { requestState: 'qms1.e30.x' },
    ])
      await expect(ask({ ...params, inputResponses: { approval: { action: 'accept' } } })).rejects.toThrow(
        'Invalid or expired requestState',
      );
    expect(effectsIn(file)).toEqual([]);
  });
});
