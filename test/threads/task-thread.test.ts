import { afterEach, expect, test } from 'vitest';
import { TaskThread, taskModule } from '../../packages/quittance/src/threads/task-thread.ts';
import type { SampleOrder } from './sample-task.ts';

type Sample = TaskThread<SampleOrder, number | string, number>;
const started: Sample[] = [];

function start(): Sample {
  const thread: Sample = new TaskThread({
    module: taskModule('sample-task', import.meta.url),
    data: { factor: 2 },
  });
  started.push(thread);
  return thread;
}

afterEach(async () => {
  for (const thread of started.splice(0)) await thread.end();
});

test('a thread answers overlapping orders, each with its own progress', async () => {
  const thread = start();
  const told: number[] = [];
  const answers = await Promise.all([
    thread.order({ kind: 'double', value: 4 }),
    thread.order({ kind: 'count', to: 3 }, { onProgress: (done) => told.push(done) }),
    thread.order({ kind: 'double', value: 5 }),
  ]);
  expect(answers).toEqual([8, 'counted', 10]);
  expect(told).toEqual([1, 2, 3]);
});

test('an aborted signal stops its own order of a thread, before or after the order was sent', async () => {
  const thread = start();
  const stop = new AbortController();
  const waiting = thread.order({ kind: 'wait' }, { signal: stop.signal });
  expect(await thread.order({ kind: 'double', value: 1 })).toBe(2);
  stop.abort();
  expect(await waiting).toBe('stopped');
  expect(await thread.order({ kind: 'wait' }, { signal: AbortSignal.abort() })).toBe('stopped');
});

test('an order rejects with the error of its task, and the thread takes the next order', async () => {
  const thread = start();
  await expect(thread.order({ kind: 'refuse' })).rejects.toMatchObject({
    code: 'config.invalid',
    facts: { field: 'kind' },
  });
  await expect(thread.order({ kind: 'throw' })).rejects.toThrow('The task has a mistake.');
  expect(await thread.order({ kind: 'double', value: 3 })).toBe(6);
});

test('every order of a thread that ends rejects, and so does the next one', async () => {
  const ending = start();
  const lost = await Promise.allSettled([ending.order({ kind: 'wait' }), ending.order({ kind: 'exit' })]);
  const reason = new Error('The thread ended before it answered.');
  expect(lost).toEqual([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ]);
  expect(ending.isAlive).toBe(false);
  await expect(ending.order({ kind: 'double', value: 1 })).rejects.toThrow('ended before it answered');
});

test('the orders of a thread whose module cannot be loaded reject', async () => {
  const thread: Sample = new TaskThread({
    module: taskModule('no-such-task', import.meta.url),
    data: undefined,
  });
  await expect(thread.order({ kind: 'double', value: 1 })).rejects.toThrow('no-such-task');
  await expect(thread.name).rejects.toThrow('no-such-task');
});

test('a thread finishes its orders before it ends', async () => {
  const thread = start();
  const answer = thread.order({ kind: 'double', value: 7 });
  await thread.end();
  expect(await answer).toBe(14);
});
