/**
 * Recovery on a memory ledger whose handles are killed like processes: which callers join, what is counted,
 * how calls end.
 */
import type { AnyTool, Runtime } from 'quittance';
import type { QuittanceEvent } from 'quittance/events';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, retry, ToolDecision, ToolError } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { MortalLedger } from '../../../../test/mortal-ledger.ts';
import { createMortalLedger } from '../../../../test/mortal-ledger.ts';
import { question, yes } from '../../../../test/people/question.ts';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet } from '../../../../test/stage.ts';
import { alterLedger } from '../../../../test/alter-ledger.ts';

const never = (): Promise<never> => new Promise(() => undefined);

type Process = { readonly runtime: Runtime; readonly ledger: OpenLedger; readonly kill: () => void };

function setScene(): {
  readonly clock: ManualClock;
  readonly file: MortalLedger;
  readonly start: (...tools: readonly AnyTool[]) => Process;
} {
  const clock = createManualClock();
  const file = createMortalLedger(clock);
  return {
    clock,
    file,
    start(...tools) {
      const { ledger, kill } = file.open();
      return { runtime: createRuntime({ clock, ledger, tools }), ledger, kill };
    },
  };
}

const put = (run: () => unknown, more: object = {}): AnyTool =>
  defineTool({ name: 'put', mode: 'external', idempotent: true, ...more, run });

/** Starts calls in a process that is killed while their bodies run. */
async function lose({ runtime, kill }: Process, name: string, callIds: readonly string[]): Promise<void> {
  const turn = runtime.turn({ sessionId: 's' });
  for (const [n, callId] of callIds.entries()) void turn.call(envelope(callId, name, { n }));
  for (let round = 0; round < 5; round++) await quiet();
  kill();
}

describe('a call that is being recovered', () => {
  it('[one-outcome] is joined by callers that repeat it meanwhile: one body, one outcome', async () => {
    const { start } = setScene();
    await lose(start(put(never)), 'put', ['a']);
    const gate = deferred<string>();
    let runs = 0;
    const { runtime } = start(
      put(() => {
        runs++;
        return gate.promise;
      }),
    );
    const recovered = runtime.recover();
    await quiet();
    const turn = runtime.turn({ sessionId: 's' });
    const asked = [turn.call(envelope('a', 'put', { n: 0 })), turn.call(envelope('a', 'put', { n: 0 }))];
    await quiet();
    gate.resolve('done');
    expect(await recovered).toMatchObject([{ callId: 'a', how: 'rerun' }]);
    for (const outcome of await Promise.all(asked))
      expect(outcome).toMatchObject({ type: 'ToolExecutionResult', output: 'done' });
    expect(runs).toBe(1);
    await expectSettledOnce(runtime);
  });

  it('[one-outcome] is recovered once if two callers ask the same runtime', async () => {
    const { start } = setScene();
    await lose(start(put(never)), 'put', ['a', 'b']);
    const ran: string[] = [];
    const { runtime } = start(put(() => ran.push('ran')));
    const both = await Promise.all([runtime.recover(), runtime.recover()]);
    expect(both.flat().filter(({ how }) => how === 'rerun').length).toBeGreaterThanOrEqual(2);
    expect(ran).toHaveLength(2);
    expect(await runtime.recover()).toEqual([]);
    await expectSettledOnce(runtime);
  });

  it('[one-outcome] a call that is being recovered that may not run again ends the same way for a joining caller and on record', async () => {
    const { start } = setScene();
    const pay = (run: () => unknown): AnyTool => defineTool({ name: 'pay', mode: 'external', run });
    await lose(start(pay(never)), 'pay', ['a']);
    const { runtime } = start(pay(() => 'paid'));
    const [recovered, reply] = await Promise.all([
      runtime.recover(),
      runtime.turn({ sessionId: 's' }).call(envelope('a', 'pay', { n: 0 })),
    ]);
    expect(recovered.every(({ how }) => how === 'indeterminate')).toBe(true);
    expect(reply).toMatchObject({ type: 'ToolFailure', code: 'tool.indeterminate' });
    await expectSettledOnce(runtime);
  });
});

it.each([
  // The table of names says that it reads, so it leaves no intent. Other words in a name only suggest it.
  ['get_note', 'rerun', 'ToolExecutionResult'],
  ['fetch_note', 'indeterminate', 'ToolFailure'],
  ['lookup_note', 'indeterminate', 'ToolFailure'],
] as const)('[no-silent-rerun] %s that was running when its process died: %s', async (name, how, type) => {
  const { start } = setScene();
  const ran: string[] = [];
  const read = (run: () => unknown): AnyTool => defineTool({ name, run });
  expect(read(never).mode).toBe('read');
  await lose(start(read(never)), name, ['a']);
  const { runtime } = start(read(() => ran.push(name)));
  const outcome = await runtime.turn({ sessionId: 's' }).call(envelope('a', name, { n: 0 }));
  expect(outcome.type).toBe(type);
  expect(ran).toHaveLength(how === 'rerun' ? 1 : 0);
});

it('[no-silent-rerun] a call that ends each process and only has a read word in its name is unknown, not failed', async () => {
  const { start } = setScene();
  const fetchNote = (): AnyTool => defineTool({ name: 'fetch_note', idempotent: true, run: never });
  await lose(start(fetchNote()), 'fetch_note', ['a']);
  for (let round = 0; round < 5; round++) {
    const { runtime, kill } = start(fetchNote());
    void runtime.recover();
    for (let turn = 0; turn < 5; turn++) await quiet();
    kill();
  }
  const { runtime } = start(fetchNote());
  expect(await runtime.turn({ sessionId: 's' }).call(envelope('a', 'fetch_note', { n: 0 }))).toMatchObject({
    type: 'ToolFailure',
    code: 'tool.indeterminate',
  });
});

describe('a held call of a dead process that is asked for again', () => {
  const held = (): AnyTool => defineTool({ name: 'delete_it', run: () => 'deleted' });
  const ask = envelope('c', 'delete_it');
  const askAgain = async (how: (runtime: Runtime) => Promise<unknown>) => {
    const { start } = setScene();
    const first = start(held());
    void first.runtime.turn({ sessionId: 's' }).call(ask);
    for (let round = 0; round < 5; round++) await quiet();
    first.kill();
    const { runtime } = start(held());
    const answer = how(runtime).catch((error: unknown) => error);
    for (let round = 0; round < 5; round++) await quiet();
    return { runtime, answer };
  };

  it.each<[string, (runtime: Runtime) => Promise<unknown>]>([
    ['call', (runtime) => runtime.turn({ sessionId: 's' }).call(ask)],
    ['submit', (runtime) => runtime.turn({ sessionId: 's' }).submit(ask).outcome()],
    ['callAll', (runtime) => runtime.turn({ sessionId: 's' }).callAll([ask])],
    [
      'recover and call',
      (runtime) => runtime.recover().then(() => runtime.turn({ sessionId: 's' }).call(ask)),
    ],
  ])('lets the runtime close after %s, and stays held', async (_, how) => {
    const { runtime, answer } = await askAgain(how);
    await runtime.close();
    await answer;
    expect(await eventsOf(runtime, 'tool.responded')).toEqual([]);
  });

  it('ends if the caller cancels it', async () => {
    const stop = new AbortController();
    const { answer } = await askAgain((runtime) =>
      runtime.turn({ sessionId: 's' }).call(ask, { signal: stop.signal }),
    );
    stop.abort();
    expect(await answer).toMatchObject({ code: 'tool.cancelled' });
  });

  it('ends if the turn of the caller withdraws it', async () => {
    const { start } = setScene();
    const first = start(held());
    void first.runtime.turn({ sessionId: 's' }).call(ask);
    for (let round = 0; round < 5; round++) await quiet();
    first.kill();
    const turn = start(held()).runtime.turn({ sessionId: 's' });
    const answer = turn.call(ask);
    for (let round = 0; round < 5; round++) await quiet();
    await turn.end({ withdraw: true });
    expect(await answer).toMatchObject({ type: 'ToolDenied', reason: 'ended' });
  });
});

describe('a recovery of a call that waits for its next attempt', () => {
  it('does not wait for the due time, and a runtime that closes leaves the attempt to the next', async () => {
    const { clock, file } = setScene();
    const start = (run: () => unknown): Process => {
      const { ledger, kill } = file.open();
      const behaviors = [retry({ initialMs: 60_000, factor: 1, maxMs: 60_000, jitter: 0 })];
      return { runtime: createRuntime({ clock, ledger, tools: [put(run)], behaviors }), ledger, kill };
    };
    const broken = (): never => {
      throw new ToolError('tool.network_error', 'x');
    };
    await lose(start(broken), 'put', ['a']);
    const hurried = start(() => 'done');
    expect(await hurried.runtime.recover()).toMatchObject([{ callId: 'a', how: 'resumed' }]);
    await hurried.runtime.close();
    expect(await eventsOf(hurried.runtime, 'tool.responded')).toMatchObject([{ final: false }]);
    hurried.kill();
    const second = start(() => 'done');
    expect(await second.runtime.recover()).toMatchObject([{ callId: 'a', how: 'resumed' }]);
    const asked = second.runtime.turn({ sessionId: 's' }).call(envelope('a', 'put', { n: 0 }));
    await quiet();
    clock.advance(60_000);
    expect(await asked).toMatchObject({ type: 'ToolExecutionResult', output: 'done' });
    await expectSettledOnce(second.runtime);
  });
});

describe('a second recovery while one is running', () => {
  it('reads every open call once, and reports all of them to each caller', async () => {
    const { start } = setScene();
    const lost = start(put(never));
    for (const sessionId of ['s1', 's2', 's3'])
      void lost.runtime.turn({ sessionId }).call(envelope('a', 'put', { n: 0 }));
    for (let round = 0; round < 5; round++) await quiet();
    lost.kill();
    const { ledger } = start();
    const reads: string[] = [];
    let lists = 0;
    const counted = alterLedger(ledger, {
      readCall(sessionId, callId) {
        reads.push(sessionId);
        return ledger.readCall(sessionId, callId);
      },
      rows: {
        open_calls(query) {
          lists++;
          return ledger.query('open_calls', query);
        },
      },
    });
    const runtime = createRuntime({ ledger: counted, tools: [put(() => 'done')] });
    // The first turn of a runtime starts a recovery by itself.
    runtime.turn({ sessionId: 'other' });
    const both = await Promise.all([runtime.recover(), runtime.recover()]);
    for (const recovered of both)
      expect(recovered.map(({ sessionId, how }) => [sessionId, how])).toEqual([
        ['s1', 'rerun'],
        ['s2', 'rerun'],
        ['s3', 'rerun'],
      ]);
    // Once to plan the work, once to do it.
    expect(reads.toSorted()).toEqual(['s1', 's1', 's2', 's2', 's3', 's3']);
    // Before it answers a second query, a store may have to process everything that the recovery has written.
    expect(lists).toBe(1);
  });
});

it('a recovery that runs when its runtime is closed ends without an error, whatever the ledger answers then', async () => {
  const { start } = setScene();
  await lose(start(put(never)), 'put', ['a']);
  const { ledger } = start();
  const listing = deferred();
  const closed = deferred();
  const runtime = createRuntime({
    ledger: alterLedger(ledger, {
      rows: {
        async open_calls() {
          listing.resolve();
          await closed.promise;
          throw new TypeError('The database connection is not open');
        },
      },
    }),
    tools: [put(() => 'done')],
  });
  const recovering = [runtime.recover(), runtime.recover()];
  await listing.promise;
  await runtime.close();
  closed.resolve();
  expect(await Promise.all(recovering)).toEqual([[], []]);
});

it('[bound-approval] does not wait for a person if an approved call has a new question', async () => {
  const { clock, file, start } = setScene();
  const ran: string[] = [];
  const remove = defineTool({ name: 'delete_it', run: () => ran.push('ran') });
  const holder = start(remove);
  void holder.runtime.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'));
  const open = await question(holder.runtime);
  holder.kill();
  const state = start();
  await state.runtime.confirmations.decide(open.confirmationId, yes(open));
  state.kill();
  const { ledger } = file.open();
  const runtime = createRuntime({
    clock,
    ledger,
    tools: [remove],
    onPreToolUse: () => ToolDecision.requiresConfirmation('On a holiday?'),
  });
  expect(await runtime.recover()).toMatchObject([{ callId: 'c', how: 'resumed' }]);
  const again = await question(runtime);
  expect(again.confirmationId).not.toBe(open.confirmationId);
  expect(ran).toEqual([]);
  await runtime.confirmations.decide(again.confirmationId, yes(again));
  expect(await runtime.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'))).toMatchObject({
    type: 'ToolExecutionResult',
  });
  expect(ran).toEqual(['ran']);
  await expectSettledOnce(runtime);
});

it('[bound-approval] runs an approved call after a restart if a default of its schema is a function', async () => {
  const { start } = setScene();
  const ran: unknown[] = [];
  let made = 0;
  // As in two processes: defined twice.
  const remove = (): AnyTool =>
    defineTool({
      name: 'delete_it',
      input: z.object({ note: z.number().default(() => ++made) }),
      run: (args) => ran.push(args),
    });
  const holder = start(remove());
  void holder.runtime.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'));
  const open = await question(holder.runtime);
  holder.kill();
  const state = start();
  await state.runtime.confirmations.decide(open.confirmationId, yes(open));
  state.kill();
  const { runtime } = start(remove());
  expect(await runtime.recover()).toMatchObject([{ callId: 'c', how: 'resumed' }]);
  // The input that was shown is the one that runs.
  expect(ran).toEqual([open.effectiveInput]);
  await expectSettledOnce(runtime);
});

describe('progress', () => {
  it('counts every call once, including those that wait for the others', async () => {
    const { start } = setScene();
    const callIds = Array.from({ length: 80 }, (_, n) => `c${n}`);
    await lose(start(put(never)), 'put', callIds);
    // The second process loses an attempt of each call too: after two, a call is recovered alone.
    const second = start(put(never));
    void second.runtime.recover().catch(() => undefined);
    for (let round = 0; round < 200; round++) await quiet();
    second.kill();
    const { runtime } = start(put(() => 'done'));
    const progress: unknown[] = [];
    const recovered = await runtime.recover({ onProgress: (each) => progress.push(each) });
    expect(recovered).toHaveLength(80);
    expect(progress).toEqual([
      { done: 0, total: 80 },
      { done: 48, total: 80 },
      { done: 80, total: 80 },
    ]);
    expect((await eventsOf(runtime, 'tool.responded')).filter(({ final }) => final)).toHaveLength(80);
  });

  it('fails only the caller whose listener throws', async () => {
    const { start } = setScene();
    await lose(start(put(never)), 'put', ['a']);
    const { runtime } = start(put(() => 'done'));
    const failing = runtime.recover({
      onProgress() {
        throw new TypeError('no screen');
      },
    });
    const other = runtime.recover();
    await expect(failing).rejects.toThrow('no screen');
    expect(await other).toMatchObject([{ callId: 'a', how: 'rerun' }]);
    await expectSettledOnce(runtime);
  });

  it('reports nothing if there is nothing to recover', async () => {
    const progress: unknown[] = [];
    const { runtime } = setScene().start(put(() => 'done'));
    await runtime.recover({ onProgress: (each) => progress.push(each) });
    expect(progress).toEqual([]);
  });
});

describe('[no-silent-rerun] a rerun', () => {
  it('[no-silent-rerun] never uses an input that a changed schema turns into another value', async () => {
    const { start } = setScene();
    let runs = 0;
    const shifted = (by: number, run: () => unknown): AnyTool =>
      put(run, {
        input: z.object({
          n: z
            .number()
            .max(by * 100)
            .transform((n) => n + by),
        }),
      });
    await lose(start(shifted(1, never)), 'put', ['a']);
    const other = start(shifted(2, () => ++runs));
    expect(await other.runtime.recover()).toMatchObject([{ callId: 'a', how: 'indeterminate' }]);
    expect(runs).toBe(0);
    const [call] = await other.runtime.calls.list({ sessionId: 's' });
    expect(call?.settled?.outcome).toMatchObject({ code: 'tool.indeterminate' });
  });

  it('[deny-wins] never affects a call that a check denied after its approval', async () => {
    const { clock, start } = setScene();
    const ran: string[] = [];
    const remove = defineTool({ name: 'delete_it', run: () => ran.push('ran') });
    const holder = start(remove);
    void holder.runtime.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'));
    const open = await question(holder.runtime);
    holder.kill();
    const state = start();
    await state.runtime.confirmations.decide(open.confirmationId, yes(open));
    // The record left by a process that wrote the denial and died before the outcome.
    const stored = await state.ledger.readCall('s', 'c');
    const denial: QuittanceEvent = {
      type: 'tool.decided',
      id: 'evt_denied',
      sessionId: 's',
      turnId: open.turnId,
      callId: 'c',
      at: clock.now(),
      cause: undefined,
      decision: 'deny',
      gates: [],
      decidedBy: { type: 'rule', name: 'no-deletes' },
      policyVersion: undefined,
      effectiveInput: undefined,
      inputDigest: undefined,
      inputForm: undefined,
      acceptedInput: undefined,
      artifacts: [],
      changes: [],
      rules: [],
      grantId: undefined,
      sideEffect: undefined,
    };
    await state.ledger.append({
      entryId: 'ent_denied',
      sessionId: 's',
      callId: 'c',
      expectedVersion: stored?.version ?? 0,
      events: [denial],
    });
    state.kill();
    const { runtime } = start(remove);
    await runtime.recover();
    expect(await runtime.turn({ sessionId: 's' }).call(envelope('c', 'delete_it'))).toMatchObject({
      type: 'ToolDenied',
      reason: 'contract',
      details: 'After the approval it was stopped by no-deletes.',
    });
    expect(ran).toEqual([]);
    await expectSettledOnce(runtime);
  });
});

it('[one-outcome] another request with the id of a running call does not touch that call', async () => {
  const clock = createManualClock();
  const ledger = createMemoryLedger({ clock });
  const gate = deferred<string>();
  const pay = defineTool({ name: 'pay', mode: 'external', run: () => gate.promise });
  const [owner, other] = [1, 2].map(() => createRuntime({ clock, ledger, tools: [pay] }));
  const first = owner?.turn({ sessionId: 's' }).call(envelope('c', 'pay', { n: 1 }));
  await quiet();
  const turn = other?.turn({ sessionId: 's' });
  expect(await turn?.call(envelope('c', 'pay', { n: 2 }))).toMatchObject({ code: 'call.conflict' });
  const joined = turn?.call(envelope('c', 'pay', { n: 1 }));
  await quiet();
  gate.resolve('paid');
  expect([await first, await joined]).toMatchObject([{ output: 'paid' }, { output: 'paid' }]);
  await expectSettledOnce(other as Runtime); // there are two
});
