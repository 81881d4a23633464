/**
 * Closing ends every wait for another process, even for a stopped one that will never answer. Real processes.
 */
import type { Actor, Play } from './play.ts';
import { openPlay } from './play.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let play: Play;
beforeEach(async () => {
  play = await openPlay();
});
afterEach(() => play.end());

/** A process that is stopped in the middle of a body. */
async function stopIn(callId: string, tool: string, args = {}): Promise<Actor> {
  const actor = await play.start({ afterwards: 'hang' });
  void actor.call(callId, tool, args).catch(() => undefined);
  await actor.reached;
  await actor.stop();
  return actor;
}

const refusal = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    (value) => `told ${JSON.stringify(value)}`,
    (error: unknown) => String(error),
  );

describe('[one-outcome] a process closes while it waits', () => {
  it('[one-outcome] a process closes while it waits for the key of a call that a stopped process makes, and the call can be repeated', async () => {
    const stopped = await stopIn('a', 'order', { key: 'k' });
    const second = await play.start();
    const waiting = refusal(second.call('b', 'order', { key: 'k' }, 'other'));
    await second.tell({ type: 'close' });
    expect(await waiting).toMatch(/Call b waits for call a, which has the same idempotency key/u);
    // The call that waited is free for the next process, which finds the key still taken.
    const third = await play.start();
    const again = third.call('b', 'order', { key: 'k' }, 'other');
    stopped.goOn();
    await stopped.tell({ type: 'release' });
    expect(await again).toMatchObject({ type: 'ToolExecutionResult', callId: 'b', output: { key: 'k' } });
    expect(play.world.count('k')).toBe(1);
  });

  it('[one-outcome] a process closes while it waits for a call that a stopped process makes', async () => {
    await stopIn('a', 'pay');
    const second = await play.start();
    const waiting = refusal(second.call('a', 'pay'));
    await second.tell({ type: 'close' });
    expect(await waiting).toMatch(/Another process makes call a/u);
  });

  it('[one-outcome] a process closes while it waits for a worker that was stopped with the call it claimed', async () => {
    const second = await play.start();
    const waiting = refusal(second.call('a', 'ship'));
    const worker = await play.start({ afterwards: 'hang' });
    let taken: unknown;
    while (taken === undefined)
      taken = await Promise.race([worker.tell({ type: 'work', tool: 'ship' }), worker.reached]);
    await worker.stop();
    await second.tell({ type: 'close' });
    expect(await waiting).toMatch(/in the hands of another process/u);
  });

  it('[one-outcome] a process closes while it waits in a recovery, for the key of a call that a stopped process makes', async () => {
    await stopIn('a', 'order', { key: 'k' });
    // Submitted by a process that ends before its turn: recovery continues it, and meets the key.
    const lost = await play.start();
    await lost.tell({ type: 'submit', sessionId: 'other', callId: 'b', tool: 'order', args: { key: 'k' } });
    await lost.kill();
    const second = await play.start();
    const recovering = refusal(second.tell({ type: 'recover' }));
    await second.tell({ type: 'close' });
    expect(await recovering).toBe('told []');
  });
});
