/** Recovery on a ledger in memory, whose handles are killed as processes are: who joins, what is counted, what ends how. */
import type { AnyTool, Ledger, Runtime } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import type { MortalLedger } from '../../test/mortal-ledger.ts';
import { createMortalLedger } from '../../test/mortal-ledger.ts';
import { deferred, envelope, eventsOf, expectSettledOnce, quiet } from '../../test/stage.ts';

const never = (): Promise<never> => new Promise(() => undefined);

type Process = { readonly runtime: Runtime; readonly ledger: Ledger; readonly kill: () => void };

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

/** Begins calls in a process that is killed while their bodies run. */
async function lose({ runtime, kill }: Process, name: string, callIds: readonly string[]): Promise<void> {
  const turn = runtime.turn({ sessionId: 's' });
  for (const [n, callId] of callIds.entries()) void turn.call(envelope(callId, name, { n }));
  for (let round = 0; round < 5; round++) await quiet();
  kill();
}

describe('a call that is being recovered', () => {
  it('[one-outcome] is joined by callers that ask for it meanwhile: one body, one outcome', async () => {
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

  it('[one-outcome] is recovered once by two that ask the same runtime to', async () => {
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

  it('[one-outcome] and may not run again ends the same way for a caller that joins and on the record', async () => {
    const { start } = setScene();
    const pay = (run: () => unknown): AnyTool => defineTool({ name: 'pay', mode: 'external', run });
    await lose(start(pay(never)), 'pay', ['a']);
    const { runtime } = start(pay(() => 'paid'));
    const [recovered, told] = await Promise.all([
      runtime.recover(),
      runtime.turn({ sessionId: 's' }).call(envelope('a', 'pay', { n: 0 })),
    ]);
    expect(recovered.every(({ how }) => how === 'indeterminate')).toBe(true);
    expect(told).toMatchObject({ type: 'ToolFailure', code: 'tool.indeterminate' });
    await expectSettledOnce(runtime);
  });
});

describe('progress', () => {
  it('counts every call once, also those that wait until the others are done', async () => {
    const { start } = setScene();
    const callIds = Array.from({ length: 40 }, (_, n) => `c${n}`);
    await lose(start(put(never)), 'put', callIds);
    // The second process loses an attempt of each as well: after two, a call is run alone.
    const second = start(put(never));
    void second.runtime.recover().catch(() => undefined);
    for (let round = 0; round < 200; round++) await quiet();
    second.kill();
    const { runtime } = start(put(() => 'done'));
    const progress: unknown[] = [];
    const recovered = await runtime.recover({ onProgress: (each) => progress.push(each) });
    expect(recovered).toHaveLength(40);
    expect(progress).toEqual([
      { done: 0, total: 40 },
      { done: 24, total: 40 },
      { done: 40, total: 40 },
    ]);
    expect((await eventsOf(runtime, 'tool.responded')).filter(({ final }) => final)).toHaveLength(40);
  });

  it('says nothing where there is nothing to recover', async () => {
    const progress: unknown[] = [];
    const { runtime } = setScene().start(put(() => 'done'));
    await runtime.recover({ onProgress: (each) => progress.push(each) });
    expect(progress).toEqual([]);
  });
});
