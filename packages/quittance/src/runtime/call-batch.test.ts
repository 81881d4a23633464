import type { ToolOutcome } from 'quittance';
import type { ConfirmationAnswer } from 'quittance/runtime';
import { defineTool, isQuittanceError } from 'quittance';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deferred, envelope, expectSettledOnce, quiet, setStage } from '../../../../test/stage.ts';

/** Tools whose bodies start on their own and end when the test releases them. */
function staged(options: { concurrency?: number; answer?: Promise<ConfirmationAnswer> } = {}) {
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (_: unknown, { callId }: { callId: string }): Promise<string> =>
    new Promise((resolve) => {
      log.push(`${callId} begins`);
      ends.set(callId, () => {
        log.push(`${callId} ends`);
        resolve(callId);
      });
    });
  const resourceKeys = ({ rows }: { rows?: unknown }): string[] => (rows as string[]) ?? [];
  const { concurrency, answer } = options;
  const stage = setStage({
    tools: [
      defineTool({ name: 'get', mode: 'read', run }),
      defineTool({ name: 'get_rows', mode: 'read', resourceKeys, run }),
      defineTool({ name: 'put', mode: 'safe_write', run }),
      defineTool({
        name: 'put_rows',
        mode: 'safe_write',
        input: z.object({ rows: z.array(z.string()) }),
        resourceKeys,
        run,
      }),
      defineTool({ name: 'delete_rows', mode: 'destructive', resourceKeys, run }),
      defineTool({
        name: 'odd',
        mode: 'safe_write',
        resourceKeys: () => {
          throw new Error('x');
        },
        run,
      }),
    ],
    ...(concurrency !== undefined && { concurrency }),
    ...(answer && { onConfirm: () => answer }),
  });
  /** The bodies that run now, sorted. */
  const running = async (): Promise<string> => {
    await quiet();
    const begun = log.filter((line) => line.endsWith('begins')).map((line) => line.split(' ')[0]);
    return begun
      .filter((id) => !log.includes(`${id} ends`))
      .sort((a = '', b = '') => a.localeCompare(b))
      .join(' ');
  };
  const end = (...ids: string[]): void => {
    for (const id of ids) ends.get(id)?.();
  };
  return { ...stage, running, end, log };
}

const call = (id: string, name: string, ...rows: string[]) =>
  envelope(id, name, rows.length > 0 ? { rows } : {});

describe('a batch of calls', () => {
  it('runs reads in parallel', async () => {
    const { turn, running, end } = staged();
    const asked = turn.callAll([call('a', 'get'), call('b', 'get_rows', 'x'), call('c', 'get')]);
    expect(await running()).toBe('a b c');
    end('a', 'b', 'c');
    await asked;
  });

  it('runs a write without resource keys alone: earlier calls end first, later calls wait', async () => {
    const { turn, running, end } = staged();
    const asked = turn.callAll([
      call('a', 'get'),
      call('b', 'get'),
      call('c', 'put'),
      call('d', 'get'),
      call('e', 'put'),
    ]);
    expect(await running()).toBe('a b');
    end('a');
    expect(await running()).toBe('b');
    end('b');
    expect(await running()).toBe('c');
    end('c');
    expect(await running()).toBe('d');
    end('d');
    expect(await running()).toBe('e');
    end('e');
    await asked;
  });

  it('runs writes on different resources in parallel, and writes on the same resource in order', async () => {
    const { turn, running, end } = staged();
    const asked = turn.callAll([
      call('a', 'put_rows', 'x'),
      call('b', 'put_rows', 'y'),
      call('c', 'put_rows', 'x', 'z'),
      call('d', 'get_rows', 'y'),
      call('e', 'get_rows', 'q'),
      call('f', 'put_rows', 'z'),
    ]);
    expect(await running()).toBe('a b e');
    end('a');
    expect(await running()).toBe('b c e');
    end('b', 'c');
    expect(await running()).toBe('d e f');
    end('d', 'e', 'f');
    await asked;
  });

  it('assumes that a call touches everything if its resource keys cannot be computed', async () => {
    const { turn, running, end } = staged();
    const asked = turn.callAll([call('a', 'odd'), call('b', 'put_rows', 'x')]);
    expect(await running()).toBe('a');
    end('a');
    expect(await running()).toBe('b');
    end('b');
    await asked;
  });

  it('computes resource keys from the coerced arguments', async () => {
    const { turn, running, end } = staged();
    const asked = turn.callAll([
      envelope('a', 'put_rows', { rows: '["x"]' }),
      call('b', 'put_rows', 'y'),
      call('c', 'put_rows', 'x'),
    ]);
    expect(await running()).toBe('a b');
    end('a', 'b');
    expect(await running()).toBe('c');
    end('c');
    expect(await asked).toMatchObject([{ wasCoerced: true }, {}, {}]);
  });

  it('returns outcomes in the order of the calls, not in the order they end', async () => {
    const { runtime, turn, running, end } = staged();
    const asked = turn.callAll(['a', 'b', 'c'].map((id) => call(id, 'get')));
    await running();
    end('c', 'b', 'a');
    expect((await asked).map(({ callId }) => callId)).toEqual(['a', 'b', 'c']);
    await expectSettledOnce(runtime);
  });

  it('limits concurrency to eight, to the runtime’s option, or to the batch’s option', async () => {
    for (const [runtimeSays, batchSays, expected] of [
      [undefined, undefined, 8],
      [3, undefined, 3],
      [3, 5, 5],
      [3, 1, 1],
    ] as const) {
      const { turn, running, end } = staged(runtimeSays === undefined ? {} : { concurrency: runtimeSays });
      const ids = Array.from({ length: 20 }, (_, n) => `c${n}`);
      const asked = turn.callAll(
        ids.map((id) => call(id, 'get')),
        batchSays === undefined ? {} : { concurrency: batchSays },
      );
      const first = (await running()).split(' ');
      expect(first).toHaveLength(expected);
      end(...first);
      while ((await running()) !== '') {
        const now = (await running()).split(' ');
        expect(now.length).toBeLessThanOrEqual(expected);
        end(...now);
      }
      expect(await asked).toHaveLength(20);
    }
  });

  it.each([0, -1, 1.5, Number.NaN])('refuses a concurrency of %s', async (concurrency) => {
    const { turn } = staged();
    const thrown = await turn.callAll([call('a', 'get')], { concurrency }).catch((error: unknown) => error);
    expect(isQuittanceError(thrown, 'config.invalid')).toBe(true);
  });

  it('keeps a held call in order: calls that overlap it wait for the person too', async () => {
    const answer = deferred<ConfirmationAnswer>();
    const { turn, running, end, log } = staged({ answer: answer.promise });
    const asked = turn.callAll([
      call('a', 'delete_rows', 'x'),
      call('b', 'put_rows', 'x'),
      call('c', 'put_rows', 'y'),
    ]);
    expect(await running()).toBe('c');
    end('c');
    expect(await running()).toBe('');
    answer.resolve({ decision: 'approve', by: 'ada' });
    expect(await running()).toBe('a');
    end('a');
    expect(await running()).toBe('b');
    end('b');
    expect((await asked).map(({ callId }) => callId)).toEqual(['a', 'b', 'c']);
    expect(log[0]).toBe('c begins');
  });

  describe("with ifHeld: 'return'", () => {
    const calls = (...names: string[]) => names.map((name, at) => call(`c${at + 1}`, name, 'x'));
    const answersOf = (answers: readonly ({ readonly type: string } & object)[]): readonly string[] =>
      answers.map((one) =>
        one.type !== 'pending' ? one.type : 'waitsFor' in one ? 'pending, asked' : 'pending',
      );

    it('runs writes in order, and makes no call behind a held one before that has ended', async () => {
      const { turn, runtime, running, end, log } = staged();
      const made = calls('put_rows', 'put_rows', 'delete_rows', 'put_rows', 'delete_rows');
      const first = turn.callAll(made, { ifHeld: 'return' });
      expect(await running()).toBe('c1');
      end('c1');
      expect(await running()).toBe('c2');
      end('c2');
      const done = 'ToolExecutionResult';
      expect(answersOf(await first)).toEqual([done, done, 'pending, asked', 'pending', 'pending']);
      const [question, ...others] = (await runtime.confirmations.list({ status: 'pending' })).rows;
      expect(others).toEqual([]);
      const { confirmationId = '', inputDigest = '' } = question ?? {};
      await runtime.confirmations.decide(confirmationId, { decision: 'approve', by: 'Ada', inputDigest });
      const second = turn.callAll(made, { ifHeld: 'return' });
      expect(await running()).toBe('c3');
      end('c3');
      expect(await running()).toBe('c4');
      end('c4');
      expect(answersOf(await second)).toEqual([done, done, done, done, 'pending, asked']);
      expect(log.filter((line) => line.endsWith('begins'))).toEqual(
        ['c1', 'c2', 'c3', 'c4'].map((id) => `${id} begins`),
      );
    });

    it('asks about several held calls at once', async () => {
      const { turn, runtime } = staged();
      const answers = await turn.callAll(calls('delete_rows', 'delete_rows'), { ifHeld: 'return' });
      expect(answersOf(answers)).toEqual(['pending, asked', 'pending, asked']);
      expect((await runtime.confirmations.list({ status: 'pending' })).rows).toHaveLength(2);
    });

    it('accepts no other value', async () => {
      const { turn } = staged();
      const options = { ifHeld: 'throw' } as unknown as { ifHeld: 'return' };
      await expect(turn.callAll([], options)).rejects.toThrow("turn.callAll: ifHeld must be 'return'");
    });
  });

  it('does not count a held call against the concurrency: other calls run meanwhile', async () => {
    const answer = deferred<ConfirmationAnswer>();
    const { turn, running, end } = staged({ concurrency: 1, answer: answer.promise });
    const asked = turn.callAll([call('a', 'delete_rows', 'x'), call('b', 'put_rows', 'y')]);
    expect(await running()).toBe('b');
    answer.resolve({ decision: 'approve', by: 'ada' });
    expect(await running()).toBe('b');
    end('b');
    expect(await running()).toBe('a');
    end('a');
    await asked;
  });

  it('continues when one of its calls is denied, unknown or fails', async () => {
    const { turn, running, end } = staged({ answer: Promise.resolve({ decision: 'deny', by: 'ada' }) });
    const asked = turn.callAll([
      call('a', 'nope'),
      envelope('b', 'put_rows', { rows: 7 }),
      call('c', 'delete_rows', 'x'),
      call('d', 'put'),
    ]);
    expect(await running()).toBe('d');
    end('d');
    const outcomes = (await asked) as ToolOutcome[];
    expect(outcomes.map((outcome) => ('code' in outcome ? outcome.code : 'ok'))).toEqual([
      'tool.unknown',
      'tool.invalid_input',
      'confirmation.rejected',
      'ok',
    ]);
  });

  it('makes a call once if the batch contains it twice, and separates two calls that differ', async () => {
    const { runtime, turn, running, end } = staged();
    const asked = turn.callAll([call('a', 'get'), call('a', 'get'), call('a', 'get_rows', 'x')]);
    expect(await running()).toBe('a');
    end('a');
    expect(await asked).toMatchObject([{ output: 'a' }, { output: 'a' }, { reason: 'conflict' }]);
    await expectSettledOnce(runtime);
  });

  it('denies calls that have not started at the turn’s deadline, without waiting for a slot', async () => {
    const { clock, runtime, running } = staged({ concurrency: 1 });
    const turn = runtime.turn({ sessionId: 's', timeoutMs: 50 });
    const asked = turn.callAll(['a', 'b', 'c'].map((id) => call(id, 'get')));
    expect(await running()).toBe('a');
    clock.advance(50);
    expect(await asked).toMatchObject([
      { type: 'ToolTimeout' },
      { reason: 'deadline' },
      { reason: 'deadline' },
    ]);
    await expectSettledOnce(runtime);
  });

  it('drops a call that is cancelled while it waits for a slot', async () => {
    const { runtime, turn, running, end } = staged({ concurrency: 1 });
    const asked = turn.callAll(['a', 'b', 'c'].map((id) => call(id, 'get')));
    expect(await running()).toBe('a');
    turn.cancel('b');
    await quiet();
    expect((await runtime.calls.list({ sessionId: 's', callId: 'b' }))[0]?.status).toBe('settled');
    end('a');
    expect(await running()).toBe('c');
    end('c');
    expect(await asked).toMatchObject([{ output: 'a' }, { code: 'tool.cancelled' }, { output: 'c' }]);
    await expectSettledOnce(runtime);
  });

  it('returns an empty list for an empty list', async () => {
    const { runtime, turn } = staged();
    expect(await turn.callAll([])).toEqual([]);
    expect(await runtime.events.list({ sessionId: 's' })).toEqual([]);
  });
});
