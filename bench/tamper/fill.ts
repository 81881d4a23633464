/** A small ledger with rows in every table, which the harness changes one by one. */
import { createRuntime, defineTool, ToolError } from 'quittance';
import { openSqliteLedger } from '../../packages/quittance/src/store/sqlite/open-sqlite-ledger.ts';
import type { Entry } from '../../packages/quittance/src/ledger/journal.ts';
import { findCalls, takeCursor } from '../../packages/quittance/src/ledger/reads.ts';

const anything = { type: 'object' } as const;
const tools = [
  defineTool({ name: 'pay', mode: 'external', input: anything, run: () => 'paid' }),
  defineTool({
    name: 'order',
    mode: 'external',
    input: anything,
    idempotencyKey: ({ ref }) => JSON.stringify(ref),
    costMicros: 700,
    run: ({ fails }) => {
      if (fails === true) throw new ToolError('tool.reported_error', 'No.');
      return { ordered: true };
    },
  }),
  defineTool({
    name: 'send',
    mode: 'external',
    input: anything,
    run: () => {
      throw new ToolError('tool.network_error', 'The line was cut.');
    },
  }),
  defineTool({
    name: 'get_much',
    mode: 'read',
    input: anything,
    run: ({ letter }) => JSON.stringify(letter).repeat(9_000),
  }),
  defineTool({ name: 'delete_it', mode: 'destructive', input: anything, run: () => 'gone' }),
] as const;

const toMove = (sessionId: string, expectedVersion: number): Entry => ({
  entryId: `ent_${sessionId}${expectedVersion}`,
  sessionId,
  callId: undefined,
  expectedVersion: 0,
  events: [
    {
      type: 'workflow.updated',
      id: `evt_${sessionId}${expectedVersion}`,
      sessionId,
      turnId: 't',
      at: 1,
      cause: undefined,
      workflow: 'w',
      workflowVersion: '1',
      state: { stage: expectedVersion },
      why: 'evidence',
      by: undefined,
    },
  ],
  moves: [{ subject: 'workflow/w', expectedVersion }],
});

export async function fillForTampering(path: string): Promise<void> {
  const ledger = await openSqliteLedger(path, { spillBytes: 4_096 });
  const runtime = createRuntime({
    tools,
    ledger,
    budgets: [
      { scope: 'session', toolCalls: 100 },
      { scope: 'team', costMicros: 1_000_000, per: 'day' },
    ],
    onConfirm: () => new Promise(() => undefined),
  });
  for (const sessionId of ['one', 'two']) {
    const turn = runtime.turn({ sessionId });
    await turn.call({ id: 'pay', name: 'pay', arguments: { sum: 5 } });
    await turn.call({ id: 'order', name: 'order', arguments: { ref: sessionId } });
    await turn.call({ id: 'failed', name: 'order', arguments: { ref: `${sessionId}-2`, fails: true } });
    await turn.call({ id: 'send', name: 'send', arguments: { to: 'ada' } });
    await turn.call({ id: 'much', name: 'get_much', arguments: { letter: sessionId } });
    void turn
      .call({ id: 'held', name: 'delete_it', arguments: { password: 'hunter2' } })
      .catch(() => undefined);
    for (const version of [0, 1]) await ledger.append(toMove(sessionId, version));
    while ((await findCalls(ledger, { sessionId, status: 'held' })).rows.length < 1)
      await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await takeCursor(ledger, { name: 'reader', holder: 'h', startAfter: 3 });
  await findCalls(ledger, { limit: 1 });
  await ledger.close();
}
