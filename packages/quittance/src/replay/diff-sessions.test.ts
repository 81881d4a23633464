import { describe, expect, test } from 'vitest';
import type { ToolCall } from '../call/tool-call.ts';
import { ToolError } from '../call/tool-error.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import type { ReadEvent } from '../ledger/unknown-event.ts';
import { ToolDecision } from '../runtime/call-options.ts';
import { createRuntime } from '../store/create-runtime.ts';
import { createMemoryLedger } from '../store/memory/memory-ledger.ts';
import { defineTool } from '../tool/define-tool.ts';
import { diffSessions } from './diff-sessions.ts';

const anything = { type: 'object' } as const;
const order = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] } as const;

/** Every outcome, and every text in which the runtime names another call. */
const program: readonly Omit<ToolCall, 'id'>[] = [
  { name: 'get_order', arguments: { id: '7' } },
  { name: 'refund', arguments: { id: 1, cents: 500 } },
  { name: 'refund', arguments: { id: 1, cents: 500 } },
  { name: 'get_order', arguments: { id: 'seven' } },
  { name: 'delete_order', arguments: { id: 2 } },
  { name: 'delete_order', arguments: { id: 3 } },
  { name: 'slow', arguments: {} },
  { name: 'list_orders', arguments: {} },
  { name: 'send_mail', arguments: { to: 'ada', password: 'hunter2-is-no-password' } },
  { name: 'send_mail', arguments: { to: 'ada', password: 'hunter2-is-no-password' } },
  { name: 'broken', arguments: {} },
  { name: 'broken', arguments: {} },
  { name: 'refund', arguments: { id: 9, cents: 1, vip: true } },
  { name: 'nothing_of_the_kind', arguments: {} },
];

/** Two sessions differ in times, and each has others. */
let made = 0;

async function play(
  ledger: OpenLedger,
  sessionId: string,
  calls: readonly Omit<ToolCall, 'id'>[] = program,
  changes: { readonly total?: number; readonly by?: string; readonly orders?: readonly string[] } = {},
): Promise<readonly ReadEvent[]> {
  const tools = [
    defineTool({
      name: 'get_order',
      mode: 'read',
      input: order,
      run: ({ id }) => ({ id, total: changes.total ?? 5 }),
    }),
    defineTool({
      name: 'refund',
      mode: 'external',
      idempotent: true,
      input: anything,
      run: () => ({ ok: true }),
    }),
    defineTool({ name: 'delete_order', mode: 'destructive', input: anything, run: () => ({ ok: true }) }),
    defineTool({
      name: 'slow',
      mode: 'read',
      timeoutMs: 5 + (made++ % 10),
      input: anything,
      run: () => new Promise(() => undefined),
    }),
    defineTool({
      name: 'list_orders',
      mode: 'read',
      input: anything,
      // In the middle: the summary of a large output has its start and its end.
      run: () =>
        Array.from({ length: 3_000 }, (_, id): object | string => ({ id })).toSpliced(
          1_500,
          0,
          ...(changes.orders ?? []),
        ),
    }),
    defineTool({
      name: 'send_mail',
      mode: 'external',
      input: anything,
      run: () => {
        throw new ToolError('tool.network_error', 'No route.', { retryable: false });
      },
    }),
    defineTool({ name: 'broken', mode: 'read', output: order, input: anything, run: () => ({ id: 'x' }) }),
  ] as const;
  const runtime = createRuntime({
    tools,
    ledger,
    onPreToolUse: ({ arguments: args }) =>
      args['vip'] === true ? ToolDecision.block('VIP orders are for people.') : ToolDecision.allow,
    onConfirm: ({ arguments: args }) => ({
      decision: args['id'] === 3 ? 'deny' : 'approve',
      by: changes.by ?? 'Ada',
      reason: 'So.',
    }),
  });
  const turn = runtime.turn({ sessionId });
  for (const [index, call] of calls.entries()) await turn.call({ ...call, id: `${sessionId}-${index}` });
  await turn.end();
  await runtime.close();
  return ledger.readSession(sessionId);
}

describe('two runs of the same program', () => {
  test('are identical, whatever their ids and times are', async () => {
    const ledger = createMemoryLedger();
    const [a, b] = [await play(ledger, 'one'), await play(ledger, 'two')];
    const diff = diffSessions(a, b, { sameLedger: true });
    expect(diff.calls.filter(({ status }) => status !== 'same')).toEqual([]);
    expect(diff).toMatchObject({ identical: true, same: program.length, workflows: [], circumstances: [] });
    const kinds = new Set(diff.calls.map((call) => ('a' in call ? String(call.a.outcome) : '')));
    expect([...kinds].toSorted()).toEqual([
      'ToolArtifactReference',
      'ToolDenied',
      'ToolExecutionResult',
      'ToolFailure',
      'ToolTimeout',
    ]);
  });

  test('two runs of the same program that differ in one byte of one argument differ in exactly that call', async () => {
    const ledger = createMemoryLedger();
    const changed = program.map((call, index) => (index === 4 ? { ...call, arguments: { id: 4 } } : call));
    const diff = diffSessions(await play(ledger, 'one'), await play(ledger, 'two', changed));
    expect(diff).toMatchObject({ identical: false, changed: 1, onlyA: 0, onlyB: 0 });
    expect(diff.calls.find(({ status }) => status === 'changed')).toMatchObject({
      a: { callId: 'one-4' },
      differences: [{ field: 'arguments', path: '$.id', a: 2, b: 4 }],
    });
  });

  test('two runs of the same program with one missing call differ by that call', async () => {
    const ledger = createMemoryLedger();
    const fewer = program.toSpliced(7, 1);
    const a = await play(ledger, 'one');
    const b = await play(ledger, 'two', fewer);
    expect(diffSessions(a, b)).toMatchObject({ identical: false, changed: 0, onlyA: 1, onlyB: 0 });
    expect(diffSessions(b, a)).toMatchObject({ identical: false, changed: 0, onlyA: 0, onlyB: 1 });
  });

  test('two runs of the same program with different tool answers differ in the output, by its path, and not in derived fields', async () => {
    const ledger = createMemoryLedger();
    const diff = diffSessions(await play(ledger, 'one'), await play(ledger, 'two', program, { total: 6 }));
    expect(diff.calls.flatMap((call) => (call.status === 'changed' ? call.differences : []))).toEqual([
      { field: 'output', path: '$.total', a: 5, b: 6 },
    ]);
  });

  test('two runs of the same program with different large outputs differ in summary or size, or else in the digest', async () => {
    const ledger = createMemoryLedger();
    const fieldsOf = async (sessionId: string, other: string): Promise<readonly string[]> => {
      const a = await play(ledger, sessionId, program, { orders: ['A'] });
      const b = await play(ledger, `${sessionId}-again`, program, { orders: [other] });
      const { calls } = diffSessions(a, b, { sameLedger: true });
      return calls.flatMap((call) =>
        call.status === 'changed' ? call.differences.map(({ field }) => field) : [],
      );
    };
    expect(await fieldsOf('longer', 'AB')).toEqual(['size_bytes']);
    expect(await fieldsOf('other', 'B')).toEqual(['digest']);
  });

  test('two runs of the same program with different approvers differ in the decision', async () => {
    const ledger = createMemoryLedger();
    const diff = diffSessions(await play(ledger, 'one'), await play(ledger, 'two', program, { by: 'Eve' }));
    const fields = diff.calls.flatMap((call) => (call.status === 'changed' ? call.differences : []));
    expect(fields).toContainEqual({
      field: 'questions',
      path: '$[0].answer.by',
      a: 'person Ada',
      b: 'person Eve',
    });
    expect(diff.changed).toBeGreaterThanOrEqual(2);
  });

  test('two runs of the same program with another secret differ within one ledger, and look equal in two', async () => {
    const other = program.map((call) =>
      call.name === 'send_mail'
        ? { ...call, arguments: { to: 'ada', password: 'another-thing-altogether' } }
        : call,
    );
    const ledger = createMemoryLedger();
    const [a, b] = [await play(ledger, 'one'), await play(ledger, 'two', other)];
    const within = diffSessions(a, b, { sameLedger: true });
    expect(within.changed).toBe(2);
    expect(JSON.stringify(within)).not.toMatch(/hunter2|altogether/);
    expect(within.calls.find(({ status }) => status === 'changed')).toMatchObject({
      differences: [{ field: 'hidden_arguments', path: '$' }],
    });
    const across = diffSessions(a, await play(createMemoryLedger(), 'two', other));
    expect(across).toMatchObject({ identical: true, comparedByKeptForm: 2 });
  });
});

test('calls in another order differ in it, unless they ran in parallel', async () => {
  const run = async (names: readonly string[], together: boolean): Promise<readonly ReadEvent[]> => {
    const ledger = createMemoryLedger();
    let begun = 0;
    const allBegun = Promise.withResolvers<void>();
    const work = async (): Promise<{ ms: number }> => {
      // Parallel: each call has started before any has ended.
      if (++begun === names.length || !together) allBegun.resolve();
      await allBegun.promise;
      await new Promise((resolve) => setTimeout(resolve, 15));
      return { ms: 15 };
    };
    const tools = ['x', 'y'].map((name) => defineTool({ name, mode: 'read', input: anything, run: work }));
    const runtime = createRuntime({ tools, ledger });
    const turn = runtime.turn({ sessionId: 's' });
    const calls = names.map((name) => () => turn.call({ id: `c-${name}`, name, arguments: {} }));
    if (together) await Promise.all(calls.map((call) => call()));
    else for (const call of calls) await call();
    await runtime.close();
    return ledger.readSession('s');
  };
  expect(diffSessions(await run(['x', 'y'], true), await run(['y', 'x'], true))).toMatchObject({
    identical: true,
    same: 2,
  });
  const apart = diffSessions(await run(['x', 'y'], false), await run(['y', 'x'], false));
  expect(apart).toMatchObject({ identical: false, changed: 1, same: 1, onlyA: 0, onlyB: 0 });
  expect(apart.calls.find(({ status }) => status === 'changed')).toMatchObject({
    differences: [{ field: 'order' }],
  });
});

test('text written by a tool is never treated as an id, however short ids are', async () => {
  const tool = (said: string) =>
    defineTool({ name: 'say', mode: 'read', input: anything, run: () => ({ text: said }) });
  const run = async (id: string): Promise<readonly ReadEvent[]> => {
    const ledger = createMemoryLedger();
    const runtime = createRuntime({ tools: [tool(`Call ${id} did the same thing.`)] as const, ledger });
    await runtime.turn({ sessionId: 's' }).call({ id, name: 'say', arguments: {} });
    await runtime.close();
    return ledger.readSession('s');
  };
  expect(diffSessions(await run('1'), await run('2'))).toMatchObject({ identical: false, changed: 1 });
});

test('unknown event types, and calls without an end, are compared as far as they go', () => {
  const base = { sessionId: 's', turnId: 't', at: 1, cause: 'gone' };
  const unknown: ReadEvent = {
    ...base,
    id: 'e1',
    type: 'tool.from_the_future',
    callId: 'c9',
    unknownFields: { text: {}, body: {} },
  };
  expect(diffSessions([unknown], [])).toMatchObject({ identical: true, calls: [] });
});

test('a call with repeated or conflicting requests differs from one without', async () => {
  const ledger = createMemoryLedger();
  const tool = defineTool({ name: 'look', mode: 'read', input: anything, run: () => 1 });
  const runtime = createRuntime({ tools: [tool], ledger });
  const ask = (sessionId: string, n: number): Promise<unknown> =>
    runtime.turn({ sessionId }).call({ id: 'c', name: 'look', arguments: { n } });
  await ask('once', 1);
  for (const n of [1, 1]) await ask('twice', n);
  for (const n of [1, 2]) await ask('conflict', n);
  const differ = async (other: string): Promise<readonly string[]> =>
    diffSessions(await ledger.readSession('once'), await ledger.readSession(other)).calls.flatMap((call) =>
      call.status === 'changed' ? call.differences.map(({ field }) => field) : [],
    );
  expect(await differ('twice')).toEqual(['audit']);
  expect(await differ('conflict')).toEqual(['conflicts']);
});
