/**
 * Side rows that are changed or deleted with a bare database handle while no process has the ledger open. The
 * entries decide: no effect runs twice, and no limit is exceeded.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolOutcome } from 'quittance';
import { createRuntime, defineTool, ToolError } from 'quittance';
import { openSqliteLedger } from '../../packages/quittance/src/store/sqlite/open-sqlite-ledger.ts';
import { afterAll, describe, expect, it } from 'vitest';
import { openBare } from '../bare-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-rows-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

const anything = { type: 'object' } as const;

/** A ledger file, and the runs in all processes that opened it. */
function stage() {
  const path = join(folder, `ledger-${files++}.db`);
  const ran: string[] = [];
  const run = (_: unknown, { callId }: { callId: string }): string => {
    ran.push(callId);
    return 'done';
  };
  const tools = [
    defineTool({ name: 'pay', mode: 'external', input: anything, loopLimit: 1_000, run }),
    defineTool({
      name: 'order',
      mode: 'external',
      input: anything,
      idempotencyKey: () => 'the key',
      run,
    }),
    defineTool({
      name: 'send',
      mode: 'external',
      input: anything,
      rerun: 'deny',
      run: (input, context) => {
        run(input, context);
        throw new ToolError('tool.network_error', 'The line was cut.');
      },
    }),
  ] as const;
  /** Opens the file like a new process, makes a call, and closes it. */
  const call = async (
    id: string,
    name: 'pay' | 'order' | 'send',
    input: Record<string, unknown> = {},
    sessionId = 's',
  ) => {
    const ledger = await openSqliteLedger(path, { spillBytes: 4_096 }).catch(
      (error: unknown) => error as Error,
    );
    if (ledger instanceof Error) return ledger;
    const runtime = createRuntime({
      tools,
      ledger,
      budgets: [
        { scope: 'session', toolCalls: 3 },
        { scope: 'team', toolCalls: 4, per: 'day' },
      ],
    });
    try {
      return await runtime.turn({ sessionId }).call({ id, name, arguments: input });
    } catch (error) {
      return error as Error;
    } finally {
      await runtime.close();
      await ledger.close();
    }
  };
  const edit = (sql: string): void => {
    const database = openBare(path);
    database.exec(sql);
    database.close();
  };
  return { call, edit, ran };
}

const endOf = (outcome: ToolOutcome | Error): string =>
  outcome instanceof Error ? outcome.name : 'reason' in outcome ? outcome.reason : outcome.type;

describe('rows that an attacker changed', () => {
  const claims = {
    'deleted the claim': 'DELETE FROM claims',
    'made the claim another call’s': `UPDATE claims SET call = 'x', session = 'y'`,
    'made the claim about another input': `UPDATE claims SET digest = 'x'`,
    'gave the claim another key': `UPDATE claims SET key = 'x'`,
    'deleted the mark of the claim': `DELETE FROM marks WHERE key LIKE 'claim%'`,
    'moved the mark of the claim': `UPDATE marks SET position = 1 WHERE key LIKE 'claim%'`,
    'emptied both tables': 'DELETE FROM claims; DELETE FROM marks',
    'dropped the table of marks': 'DELETE FROM claims; DROP TABLE marks',
    'made a trigger that takes it away': `DELETE FROM claims; CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM marks WHERE key LIKE 'claim%'; END`,
  };
  it.each(Object.entries(claims))(
    '[no-silent-rerun] an effect with a key of the tool runs once, even after an attacker %s',
    async (__, sql) => {
      const { call, edit, ran } = stage();
      await call('before', 'pay');
      expect(endOf(await call('first', 'order'))).toBe('ToolExecutionResult');
      edit(sql);
      await call('second', 'order');
      expect(ran).toEqual(['before', 'first']);
    },
  );

  const calls = {
    'dropped the indexes': 'DROP INDEX entries_by_session; DROP INDEX entries_by_call',
    'set its version to 0': 'UPDATE entries SET version = 0',
    'took its version away': 'UPDATE entries SET version = NULL',
    'deleted its last entry': `DELETE FROM entries WHERE position = (SELECT max(position) FROM entries WHERE call = 'first')`,
    'made its entries another session’s': `UPDATE entries SET session = 99 WHERE call = 'first'`,
    'made its entries another call’s': `UPDATE entries SET call = 'x' WHERE call = 'first'`,
    'removed the owner of its entries': `UPDATE entries SET call = NULL WHERE call = 'first'`,
    'deleted its first entry': `DELETE FROM entries WHERE position = (SELECT min(position) FROM entries WHERE call = 'first')`,
    'deleted its session': `DELETE FROM sessions WHERE name = 's'`,
    'gave its session another name': `UPDATE sessions SET name = 'x' WHERE name = 's'`,
    'said that its session is empty': `UPDATE sessions SET sequence = 0, hash = NULL`,
    'emptied all tables but that of entries': `DELETE FROM sessions; DELETE FROM claims;
       DELETE FROM counters; DELETE FROM marks; DELETE FROM unsettled`,
  };
  it.each(Object.entries(calls))(
    '[no-silent-rerun] a repeated call runs once, even after an attacker %s',
    async (__, sql) => {
      const { call, edit, ran } = stage();
      await call('before', 'pay', {}, 'elsewhere');
      expect(endOf(await call('first', 'pay'))).toBe('ToolExecutionResult');
      await call('other', 'pay', { other: true });
      edit(sql);
      await call('first', 'pay');
      expect(ran).toEqual(['before', 'first', 'other']);
    },
  );

  const effects = {
    'deleted its row': 'DELETE FROM unsettled',
    'made its row about another input': `UPDATE unsettled SET digest = 'x'`,
    'made its row about another tool': `UPDATE unsettled SET tool = 'x'`,
    'deleted its mark': `DELETE FROM marks WHERE key LIKE 'effect%'`,
  };
  it.each(Object.entries(effects))(
    '[no-silent-rerun] an unresolved effect keeps its twin from running, even after an attacker %s',
    async (__, sql) => {
      const { call, edit, ran } = stage();
      await call('first', 'send');
      edit(sql);
      await call('second', 'send');
      expect(ran).toEqual(['first']);
    },
  );

  const counters = {
    'deleted the counters': 'DELETE FROM counters',
    'deleted the counter': `DELETE FROM counters WHERE name LIKE 'session%'`,
    'set the counters to 0': 'UPDATE counters SET used = 0, reserved = 0',
    'gave one of them back': 'UPDATE counters SET used = used - 1',
    'gave the counters other names': `UPDATE counters SET name = name || 'x'`,
    'made the counters no numbers': `UPDATE counters SET used = 'x', reserved = x'00'`,
    'deleted the marks of the counters': `DELETE FROM marks WHERE key LIKE 'counter%'`,
    'moved the marks of the counters': `UPDATE marks SET position = (SELECT min(position) FROM entries WHERE text LIKE '%totals%') WHERE key LIKE 'counter%'`,
    'emptied both tables': 'DELETE FROM counters; DELETE FROM marks',
  };
  it.each(Object.entries(counters))(
    '[limits-hold] three calls run under a limit of three, even after an attacker %s',
    async (__, sql) => {
      const { call, edit, ran } = stage();
      for (const id of ['1', '2', '3']) await call(id, 'pay', { id });
      edit(sql);
      await call('4', 'pay', { id: 4 });
      await call('5', 'pay', { id: 5 });
      expect(ran).toEqual(['1', '2', '3']);
    },
  );

  it('[limits-hold] a limit shared by sessions holds, even after its counter was deleted and a session dropped', async () => {
    const { call, edit, ran } = stage();
    for (const id of ['1', '2', '3']) await call(id, 'pay', { id });
    edit(`DELETE FROM counters WHERE name LIKE 'named%'`);
    expect(endOf(await call('4', 'pay', {}, 'elsewhere'))).toBe('ToolExecutionResult');
    expect(endOf(await call('5', 'pay', {}, 'nowhere'))).toBe('budget');
    expect(ran).toEqual(['1', '2', '3', '4']);
  });
});
