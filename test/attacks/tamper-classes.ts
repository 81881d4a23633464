/**
 * Attacks with write access to the ledger file while no process has it open: rows changed, deleted,
 * recomputed.
 */
import { join } from 'node:path';
import { attackClass, type AttackClass, type Door, type Family, type Verdict } from './attack-class.ts';
import { openBare } from '../bare-database.ts';

type Attempt = { readonly name: string; readonly sql: string };

/** Makes calls in a ledger, changes its file, and makes the last call: `held` if its body does not run. */
async function makeAttempt(
  door: Door,
  sql: string,
  calls: readonly (readonly [id: string, name: 'pay' | 'order'])[],
): Promise<Verdict> {
  const { createRuntime, defineTool } = door.quittance;
  const path = join(door.newFolder(), 'ledger.db');
  const ran: string[] = [];
  const run = (_: unknown, { callId }: { readonly callId: string }): string => {
    ran.push(callId);
    return 'done';
  };
  const input = { type: 'object' } as const;
  const tools = [
    defineTool({ name: 'pay', mode: 'external', input, loopLimit: 100, run }),
    defineTool({ name: 'order', mode: 'external', input, idempotencyKey: () => 'key', run }),
  ] as const;
  for (const [index, [id, name]] of calls.entries()) {
    const isLast = index === calls.length - 1;
    if (isLast) {
      const database = openBare(path);
      database.exec(sql);
      database.close();
      ran.length = 0;
    }
    try {
      const ledger = await door.ledger.openLedger(`sqlite:${path}`, { spillBytes: 4_096 });
      const runtime = createRuntime({ tools, ledger, budgets: [{ scope: 'session', toolCalls: 2 }] });
      try {
        await runtime.turn({ sessionId: 's' }).call({ id, name, arguments: { id } });
      } finally {
        await runtime.close();
        await ledger.close();
      }
    } catch (error) {
      if (!isLast) throw error; // a refused file or call is the point of the last one
    }
  }
  return ran.length === 0 ? 'held' : 'through';
}

const claims: readonly Attempt[] = [
  { name: 'delete the claim', sql: 'DELETE FROM claims' },
  { name: 'give the claim to another call', sql: `UPDATE claims SET call = 'x', session = 'y'` },
  { name: 'give the claim another key', sql: `UPDATE claims SET key = 'x'` },
  { name: 'delete the mark of the claim', sql: `DELETE FROM marks WHERE key LIKE 'claim%'` },
  { name: 'empty claims and marks', sql: 'DELETE FROM claims; DELETE FROM marks' },
  { name: 'drop the table of marks', sql: 'DELETE FROM claims; DROP TABLE marks' },
  {
    name: 'delete marks by a trigger',
    sql: 'DELETE FROM claims; CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM marks; END',
  },
];
const recorded: readonly Attempt[] = [
  { name: 'delete the entries of the call', sql: `DELETE FROM entries WHERE position = 1` },
  { name: 'give its entries to another call', sql: `UPDATE entries SET call = 'x' WHERE call = '1'` },
  { name: 'forget the newest entry', sql: 'UPDATE sessions SET sequence = sequence - 1' },
  { name: 'delete the session', sql: 'DELETE FROM sessions' },
  { name: 'rename the session', sql: `UPDATE sessions SET name = 'x'` },
  {
    name: 'empty every table but the entries',
    sql: `DELETE FROM sessions; DELETE FROM claims; DELETE FROM counters; DELETE FROM marks`,
  },
];
const counters: readonly Attempt[] = [
  { name: 'delete the counter', sql: 'DELETE FROM counters' },
  { name: 'set the counter to 0', sql: 'UPDATE counters SET used = 0, reserved = 0' },
  { name: 'give one back', sql: 'UPDATE counters SET used = used - 1' },
  { name: 'rename the counter', sql: `UPDATE counters SET name = name || 'x'` },
  { name: 'delete the mark of the counter', sql: `DELETE FROM marks WHERE key LIKE 'counter%'` },
  { name: 'empty counters and marks', sql: 'DELETE FROM counters; DELETE FROM marks' },
];

const classes: readonly AttackClass[] = [
  attackClass({
    id: 'tamper-claim',
    title: 'a claim row changed or deleted, to run an effect twice',
    attempts: claims,
    run: ({ sql }, door) =>
      makeAttempt(door, sql, [
        ['1', 'order'],
        ['2', 'order'],
      ]),
  }),
  attackClass({
    id: 'tamper-recorded-call',
    title: 'the record of a call hidden, to run it again',
    attempts: recorded,
    run: ({ sql }, door) =>
      makeAttempt(door, sql, [
        ['1', 'pay'],
        ['1', 'pay'],
      ]),
  }),
  attackClass({
    id: 'tamper-counter',
    title: 'a counter changed or deleted, to pass a limit',
    attempts: counters,
    run: ({ sql }, door) =>
      makeAttempt(door, sql, [
        ['1', 'pay'],
        ['2', 'pay'],
        ['3', 'pay'],
      ]),
  }),
];

export const tamperFamily: Family = {
  title: 'Ledger files changed by others',
  file: 'test/attacks/tamper-classes.ts',
  classes,
};
