/** Held calls and the end of processes: each ledger opened here is a separate owner, like a process. */
import { mkdtempSync, rmSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyTool, PendingCall, Runtime, ToolOutcome } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, isQuittanceError } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { z } from 'zod';
import { auditKinds, envelope, eventsOf, expectSettledOnce } from '../stage.ts';
import { no, openQuestions, question, refusal, yes } from './question.ts';
import { alterLedger } from '../alter-ledger.ts';

let folder: string;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-restart-'));
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  rmSync(folder, { recursive: true, force: true });
});

const remove = (ran: unknown[], input: z.ZodType = z.object({ table: z.string() })): AnyTool =>
  defineTool({ name: 'delete_rows', input, run: (args) => ({ nth: ran.push(args) }) }) as AnyTool;

type Process = { readonly runtime: Runtime; readonly end: () => Promise<void> };

/** A process: its own handle on the ledger, its own runtime. */
async function start(...tools: readonly AnyTool[]): Promise<Process> {
  const ledger = await openLedger(join(folder, 'ledger.db'));
  const runtime = createRuntime({ tools, ledger });
  let over: Promise<void> | undefined;
  const end = (): Promise<void> => (over ??= runtime.close().then(() => ledger.close()));
  closing.push(end);
  return { runtime, end };
}

const ask = (table: string) => envelope('c', 'delete_rows', { table });

/** A process that holds a call and dies. */
async function holdAndEnd(call = ask('users'), ...tools: readonly AnyTool[]): Promise<void> {
  const { runtime, end } = await start(...(tools.length > 0 ? tools : [remove([])]));
  void runtime
    .turn({ sessionId: 's' })
    .call(call)
    .catch(() => undefined); // its process ends
  await question(runtime);
  await end();
}

describe('after a restart', () => {
  it('held calls are found, decided and run, and a repeat with the same id gets the outcome', async () => {
    await holdAndEnd();
    const ran: unknown[] = [];
    const { runtime } = await start(remove(ran));
    const open = await question(runtime);
    expect(open).toMatchObject({
      callId: 'c',
      toolName: 'delete_rows',
      effectiveInput: { table: 'users' },
      status: 'pending',
    });
    const rejoined = runtime.turn({ sessionId: 's' }).call(ask('users'));
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    expect(await rejoined).toMatchObject({ type: 'ToolExecutionResult', output: { nth: 1 } });
    expect(ran).toEqual([{ table: 'users' }]);
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation', 'completed']);
    expect(await eventsOf(runtime, 'tool.held')).toHaveLength(1); // the question is asked once
    await expectSettledOnce(runtime);
  });

  it('a decision made without the tool is stored, and used by the first process that has the tool', async () => {
    await holdAndEnd();
    const inbox = await start();
    const open = await question(inbox.runtime);
    expect(await inbox.runtime.confirmations.decide(open.confirmationId, yes(open))).toMatchObject({
      status: 'approved',
    });
    const [waiting] = await inbox.runtime.calls.list({ sessionId: 's' });
    expect(waiting?.status).toBe('approved');
    await inbox.end();
    const ran: unknown[] = [];
    const { runtime } = await start(remove(ran));
    expect(await runtime.turn({ sessionId: 's' }).call(ask('users'))).toMatchObject({ output: { nth: 1 } });
    expect(ran).toHaveLength(1);
    await expectSettledOnce(runtime);
  });

  it('a denial made without the tool ends the call at once', async () => {
    await holdAndEnd();
    const inbox = await start();
    const open = await question(inbox.runtime);
    await inbox.runtime.confirmations.decide(open.confirmationId, no('ada', 'keep them'));
    await eventually(async () =>
      expect((await inbox.runtime.calls.list({ sessionId: 's' }))[0]?.settled?.outcome).toMatchObject({
        code: 'confirmation.rejected',
        details: 'Denied by ada: keep them',
      }),
    );
  });

  it('another version of the tool does not run what was approved for the old one; the old one does', async () => {
    await holdAndEnd();
    const ran: unknown[] = [];
    const newer = await start(
      remove(ran, z.object({ table: z.string(), really: z.boolean().default(true) })),
    );
    const open = await question(newer.runtime);
    await newer.runtime.confirmations.decide(open.confirmationId, yes(open));
    const asked = newer.runtime.turn({ sessionId: 's', timeoutMs: 500 }).call(ask('users'));
    expect((await refusal(asked)).code).toBe('call.pending');
    expect((await newer.runtime.calls.list({ sessionId: 's' }))[0]?.status).toBe('approved');
    expect(ran).toEqual([]);
    const older = await start(remove(ran));
    await older.runtime.recover();
    expect(await older.runtime.turn({ sessionId: 's' }).call(ask('users'))).toMatchObject({
      output: { nth: 1 },
    });
    expect(ran).toEqual([{ table: 'users' }]);
  });

  it('an approved hand-off that no worker claims times out, and its waiters do not keep the process busy', async () => {
    const far = (): AnyTool =>
      defineTool({
        name: 'delete_rows',
        handoff: true,
        timeoutMs: 300,
        input: z.object({ table: z.string() }),
      });
    await holdAndEnd(ask('users'), far());
    const ledger = await openLedger(join(folder, 'ledger.db'));
    let looks = 0;
    const readCall: OpenLedger['readCall'] = (...call) => {
      // A busy loop would also block the time limit of this test.
      if (++looks > 1_000) throw new Error('It is looked at without end.');
      return ledger.readCall(...call);
    };
    const watched = alterLedger(ledger, { readCall });
    const runtime = createRuntime({ tools: [far()], ledger: watched });
    closing.push(() => runtime.close().then(() => ledger.close()));
    const asking = (): Promise<ToolOutcome | PendingCall> =>
      runtime.turn({ sessionId: 's' }).call(ask('users'), { ifHeld: 'return' });
    expect(await asking()).toMatchObject({ type: 'pending' });
    const open = await question(runtime);
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    expect(await asking()).toMatchObject({ code: 'tool.timeout' });
    await expectSettledOnce(runtime);
  });

  it('twenty held calls of one tool are answered in any order, each once', async () => {
    const first = await start(remove([]));
    const turn = first.runtime.turn({ sessionId: 's' });
    for (let n = 0; n < 20; n++)
      void turn.call(envelope(`t${n}`, 'delete_rows', { table: `t${n}` })).catch(() => undefined);
    await eventually(async () => expect(await openQuestions(first.runtime)).toHaveLength(20));
    await first.end();
    const ran: unknown[] = [];
    const { runtime } = await start(remove(ran));
    const { rows } = await runtime.confirmations.list({ status: 'pending', limit: 100 });
    expect(rows).toHaveLength(20);
    const order = rows.toSorted((a, b) => a.confirmationId.localeCompare(b.confirmationId));
    await Promise.all(
      order.map((view, n) =>
        runtime.confirmations.decide(view.confirmationId, n % 2 === 0 ? yes(view) : no()),
      ),
    );
    const again = runtime.turn({ sessionId: 's' });
    for (const [n, { callId, effectiveInput }] of order.entries())
      expect(await again.call(envelope(callId, 'delete_rows', effectiveInput as never))).toMatchObject(
        n % 2 === 0 ? { type: 'ToolExecutionResult' } : { code: 'confirmation.rejected' },
      );
    expect(ran).toHaveLength(10);
    expect(new Set(ran.map((args) => JSON.stringify(args)))).toHaveProperty('size', 10);
    await expectSettledOnce(runtime);
  });

  it('several processes that took it over run it once in total, and all of them get the outcome', async () => {
    await holdAndEnd();
    const ran: unknown[] = [];
    const processes = await Promise.all([1, 2, 3, 4].map(() => start(remove(ran))));
    const asked = processes.map(({ runtime }) => runtime.turn({ sessionId: 's' }).call(ask('users')));
    const [first, , , last] = processes;
    if (first === undefined || last === undefined) throw new Error('there are four');
    const open = await question(first.runtime);
    const decisions = await Promise.allSettled([
      first.runtime.confirmations.decide(open.confirmationId, yes(open, 'ada')),
      last.runtime.confirmations.decide(open.confirmationId, yes(open, 'bob')),
    ]);
    expect(decisions.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const outcomes = await Promise.all(asked);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ output: { nth: 1 } });
    expect(ran).toHaveLength(1);
    await expectSettledOnce(first.runtime);
  });
});

describe('while the process that holds the call lives', () => {
  it('any other process that shares the ledger decides, and the holder continues', async () => {
    const ran: unknown[] = [];
    const holder = await start(remove(ran));
    const asked = holder.runtime.turn({ sessionId: 's' }).call(ask('users'));
    const others: unknown[] = [];
    const inbox = await start(remove(others));
    const open = await eventually(() => question(inbox.runtime));
    await inbox.runtime.confirmations.decide(open.confirmationId, yes(open));
    expect(await asked).toMatchObject({ type: 'ToolExecutionResult' });
    expect([ran.length, others.length]).toEqual([1, 0]);
  });

  it('decisions about parallel calls, from several processes at once, all arrive', async () => {
    const ran: unknown[] = [];
    const holder = await start(remove(ran));
    const turn = holder.runtime.turn({ sessionId: 's' });
    const tables = Array.from({ length: 8 }, (_, n) => `t${n}`);
    const asked = tables.map((table) => turn.call(envelope(table, 'delete_rows', { table })));
    const deciders = await Promise.all([start(), start()]);
    const { rows } = await eventually(async () => {
      const page = await holder.runtime.confirmations.list({ status: 'pending' });
      expect(page.rows).toHaveLength(8);
      return page;
    });
    await Promise.all(
      rows.flatMap((view) =>
        deciders.map(({ runtime }) =>
          runtime.confirmations.decide(view.confirmationId, yes(view)).catch((error: unknown) => {
            if (!isQuittanceError(error, 'confirmation.decided')) throw error;
          }),
        ),
      ),
    );
    for (const outcome of await Promise.all(asked)) expect(outcome.type).toBe('ToolExecutionResult');
    expect(ran).toHaveLength(8);
    await expectSettledOnce(holder.runtime);
  });
});

describe('the hidden part of a held input', () => {
  const secret = 'correct horse battery staple';
  const login = (ran: unknown[]) =>
    defineTool({
      name: 'delete_account',
      input: z.object({ user: z.string(), password: z.string(), pin: z.string().optional() }),
      redact: { input: ['pin'] },
      run: (args) => ({ nth: ran.push(args) }),
    }) as AnyTool;
  const call = envelope('c', 'delete_account', { user: 'bob', password: secret, pin: 'wyxqthlkmvzu' });

  it('is available after a restart, and was never in plain text', async () => {
    await holdAndEnd(call, login([]));
    const ran: unknown[] = [];
    const { runtime } = await start(login(ran));
    const open = await question(runtime);
    expect(JSON.stringify(open)).not.toContain(secret);
    await runtime.confirmations.decide(open.confirmationId, yes(open));
    await runtime.turn({ sessionId: 's' }).call(call);
    expect(ran).toEqual([{ user: 'bob', password: secret, pin: 'wyxqthlkmvzu' }]);
  });

  it('is never replaced by its mask: a process with another key is refused, and the call stays held', async () => {
    await holdAndEnd(call, login([]));
    const key = readFileSync(join(folder, 'ledger.db.key'));
    writeFileSync(join(folder, 'ledger.db.key'), Buffer.alloc(32, 7));
    const ran: unknown[] = [];
    await expect(start(login(ran))).rejects.toThrow('not the seal key of the ledger');
    writeFileSync(join(folder, 'ledger.db.key'), key);
    const { runtime } = await start(login(ran));
    await runtime.recover();
    expect(await auditKinds(runtime, 'c')).toEqual(['requires_confirmation']);
    expect(await runtime.confirmations.list({ status: 'pending' })).toMatchObject({
      rows: [{ callId: 'c' }],
    });
    expect(ran).toEqual([]);
  });

  it('is restored if an edit leaves the mask, and can be replaced', async () => {
    for (const password of ['[REDACTED]', 'a new one']) {
      const ran: unknown[] = [];
      const { runtime, end } = await start(login(ran));
      const asked = runtime.turn({ sessionId: password }).call(call);
      const open = await question(runtime);
      expect(open.effectiveInput).toEqual({ user: 'bob', password: '[REDACTED]', pin: '[REDACTED]' });
      await runtime.confirmations.decide(open.confirmationId, {
        decision: 'edit',
        by: 'ada',
        inputDigest: open.inputDigest,
        arguments: { user: 'robert', password, pin: '[REDACTED]' },
      });
      await asked;
      expect(ran).toEqual([
        { user: 'robert', password: password === 'a new one' ? password : secret, pin: 'wyxqthlkmvzu' },
      ]);
      const events = JSON.stringify(await runtime.events.list({ sessionId: password }));
      for (const hidden of [secret, 'a new one', 'wyxqthlkmvzu'])
        expect(events.replaceAll('"sessionId":"a new one"', '')).not.toContain(hidden);
      await end();
    }
  });

  it('stays hidden if a process without the tool edits it, and a mask in a wrong place is refused', async () => {
    await holdAndEnd(call, login([]));
    const inbox = await start();
    const open = await question(inbox.runtime);
    const edit = (given: object) =>
      inbox.runtime.confirmations.decide(open.confirmationId, {
        decision: 'edit',
        by: 'ada',
        inputDigest: open.inputDigest,
        arguments: given as never,
      });
    for (const given of [
      { user: '[REDACTED]', password: 'x' },
      { user: 'bob', password: 'x', pin: ['[REDACTED]'] },
      { user: 'bob', password: 'x [REDACTED]' },
    ])
      expect((await refusal(edit(given))).code).toBe('confirmation.mismatch');
    await edit({ user: 'bob', password: '[REDACTED]', pin: 'kmvzuwyxqthl' });
    expect(JSON.stringify(await inbox.runtime.events.list({ sessionId: 's' }))).not.toContain('kmvzuwyxqthl');
    await inbox.end();
    const ran: unknown[] = [];
    const { runtime } = await start(login(ran));
    await runtime.turn({ sessionId: 's' }).call(call);
    expect(ran).toEqual([{ user: 'bob', password: secret, pin: 'kmvzuwyxqthl' }]);
  });
});
