import { createRuntime, defineTool } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type {
  SessionComparison,
  SessionDetail,
  StartedFork,
} from '../../packages/server/src/http/api/session.ts';
import { foldStored } from '../../packages/quittance/src/ledger/fold-stored.ts';
import { eventually } from '../eventually.ts';
import type { TestServer } from './start-server.ts';
import { rules, startServer } from './start-server.ts';
import { findCalls, readHeads } from '../../packages/quittance/src/ledger/reads.ts';

let app: TestServer;
beforeAll(async () => {
  app = await startServer();
});
afterAll(() => app.close());

const anything = { type: 'object' } as const;
type Made = readonly [id: string, name: string, args: Readonly<Record<string, unknown>>];

/** Calls of another process, whose tools have the same names and do other things. */
async function record(
  sessionId: string,
  calls: readonly Made[],
  run: (args: object) => unknown = (args) => ({ note: (args as { id?: string }).id }),
): Promise<void> {
  const names = [...new Set(calls.map(([, name]) => name))];
  const tools = names.map((name) => defineTool({ name, mode: 'read', input: anything, run }));
  const runtime = createRuntime({ tools, ledger: app.ledger, contracts: contractsFromYamlString(rules) });
  const turn = runtime.turn({ sessionId });
  for (const [id, name, args] of calls) await turn.call({ id, name, arguments: args });
  await runtime.close();
}

const fork = async (
  sessionId: string,
  callId: string,
  more: object = {},
): Promise<{ status: number; body: StartedFork & { detail: string } }> =>
  app.post(`/v1/sessions/${sessionId}/forks`, { callId, ...more }, 'operator');

const callsOf = async (sessionId: string): Promise<readonly (string | undefined)[]> => {
  const { rows } = await findCalls(app.ledger, { sessionId, limit: 50 });
  return rows.toReversed().map(({ callId, outcome }) => `${callId} ${outcome}`);
};

const compare = async (a: string, b: string): Promise<SessionComparison> => {
  const { status, body } = await app.get<SessionComparison>(`/v1/sessions/${a}/compare?with=${b}`, 'viewer');
  expect(status).toBe(200);
  return body;
};

test('[deny-wins] a fork makes the calls again through every gate, in a session that names its origin and its maker', async () => {
  const turn = app.runtime.turn({ sessionId: 'day' });
  await turn.call({ id: 'a', name: 'set_price', arguments: { cents: 100 } });
  await turn.call({ id: 'b', name: 'send_mail', arguments: { to: 'stranger@example.org' } });
  await turn.call(
    { id: 'c', name: 'set_price', arguments: { cents: 300 } },
    { principal: { userId: 'ines' } },
  );
  const { status, body } = await fork('day', 'b', { as: 'day-again' });
  expect([status, body]).toEqual([
    201,
    {
      sessionId: 'day-again',
      fork: { fromSessionId: 'day', atCallId: 'b', position: 1, after: 'live' },
      calls: 2,
    },
  ]);
  await eventually(async () =>
    expect(await callsOf('day-again')).toEqual(['b ToolDenied', 'c ToolExecutionResult']),
  );
  const stored = await app.ledger.readCall('day-again', 'c');
  expect(stored && foldStored(stored)).toMatchObject({
    askedBy: { kind: 'token', name: 'operator-person' },
    principal: { userId: 'ines' },
    requestedInput: { cents: 300 },
  });
  const detail = await app.get<SessionDetail>('/v1/sessions/day-again', 'viewer');
  expect(detail.body.fork).toEqual(body.fork);
  expect((await app.get<SessionDetail>('/v1/sessions/day')).body.fork).toBeUndefined();
  // The call before the fork was not made again, so it is not a difference, whichever side it is on.
  const whole = { identical: true, same: 2, onlyA: 0, onlyB: 0, calls: [] };
  expect(await compare('day', 'day-again')).toMatchObject({ ...whole, fork: { of: 'a', position: 1 } });
  expect(await compare('day-again', 'day')).toMatchObject({ ...whole, fork: { of: 'b', position: 1 } });
});

test('a held call of a fork waits for an approver, and the next call waits for it', async () => {
  await record('files', [
    ['x', 'delete_file', { path: '/tmp/x' }],
    ['y', 'read_note', { id: 'y' }],
  ]);
  await fork('files', 'x', { as: 'files-again', continue: true });
  const question = await eventually(async () => {
    const { rows } = await app.runtime.confirmations.list({ sessionId: 'files-again', status: 'pending' });
    expect(rows).toHaveLength(1);
    return rows[0];
  });
  expect(await callsOf('files-again')).toEqual(['x undefined']);
  await app.post(
    `/v1/confirmations/${question?.confirmationId}/decision`,
    { decision: 'deny', inputDigest: question?.inputDigest },
    'approver',
  );
  await eventually(async () =>
    expect(await callsOf('files-again')).toEqual(['x ToolDenied', 'y ToolExecutionResult']),
  );
});

test('a fork stops at the first call that ends differently, unless the operator wants to go on', async () => {
  const calls: readonly Made[] = [
    ['1', 'read_note', { id: 'one' }],
    ['2', 'read_note', { id: 'two' }],
    ['3', 'read_note', { id: 'three' }],
  ];
  await record('broken', calls, (args) => {
    if ((args as { id: string }).id === 'two') throw new Error('The disk is full.');
    return { note: (args as { id: string }).id };
  });
  await fork('broken', '1', { as: 'broken-stop' });
  await fork('broken', '1', { as: 'broken-on', continue: true });
  await eventually(async () => expect(await callsOf('broken-on')).toHaveLength(3));
  expect(await callsOf('broken-stop')).toEqual(['1 ToolExecutionResult', '2 ToolExecutionResult']);
  const stopped = await compare('broken', 'broken-stop');
  expect(stopped).toMatchObject({ identical: false, same: 1, changed: 1, onlyA: 1, onlyB: 0 });
  expect(stopped.calls.map(({ status, weight, a }) => [status, weight, a?.callId])).toEqual([
    ['changed', 'end', '2'],
    ['only_a', 'end', '3'],
  ]);
  expect(stopped.calls[0]).toMatchObject({
    a: { outcome: 'ToolFailure', code: 'tool.execution_error' },
    b: { outcome: 'ToolExecutionResult' },
  });
  expect(stopped.calls[0]?.differences[0]?.field).toBe('outcome');
});

test('[secrets-stay-out] nothing is forked that cannot be repeated as it was, and nothing is recorded then', async () => {
  await record('odd', [
    ['other', 'tool_of_others', {}],
    ['hidden', 'delete_file', { path: '/tmp/x', password: 'correct-horse-battery' }],
    ['last', 'read_note', { id: 'last' }],
  ]);
  const refused = await fork('odd', 'hidden', { as: 'odd-hidden' });
  expect([refused.status, refused.body.detail]).toEqual([
    400,
    expect.stringContaining('hides a part of the arguments of call "hidden"'),
  ]);
  await record('foreign', [['f', 'tool_of_others', {}]]);
  expect((await fork('foreign', 'f', { as: 'odd-foreign' })).body.detail).toContain('"tool_of_others"');
  expect((await fork('odd', 'none')).status).toBe(404);
  expect((await fork('no-session', 'none')).status).toBe(404);
  expect((await fork('odd', 'last', { as: 'odd' })).status).toBe(400);
  for (const role of ['viewer', 'approver'] as const)
    expect((await app.post('/v1/sessions/odd/forks', { callId: 'last' }, role)).status).toBe(403);
  for (const sessionId of ['odd-hidden', 'odd-foreign'])
    expect(await readHeads(app.ledger, sessionId)).toEqual([]);
});

test('a comparison of large sessions is bounded, and says how much it compared', async () => {
  const many = Array.from({ length: 510 }, (_, n): Made => [`n${n}`, 'read_note', { id: `note ${n}` }]);
  await record('many', many);
  await record('most', many.slice(300), () => ({ note: 'x'.repeat(3_000) }));
  const found = await compare('many', 'most');
  expect(found).toMatchObject({
    a: { calls: 510, compared: 500 },
    b: { calls: 210, compared: 210 },
    changed: 210,
    onlyA: 290,
    moreCalls: 300,
  });
  expect(found.calls).toHaveLength(200);
  const other = await compare('most', 'many');
  expect(JSON.stringify(other).length).toBeLessThan(1_500_000);
  // Calls that only one session made come before other outputs.
  expect(new Set(found.calls.map(({ weight }) => weight))).toEqual(new Set(['end']));
  const late = await fork('many', 'n5');
  expect([late.status, late.body.detail]).toEqual([413, expect.stringContaining('at most 200')]);
  expect((await app.get(`/v1/sessions/many/compare?with=nothing`)).status).toBe(404);
});
