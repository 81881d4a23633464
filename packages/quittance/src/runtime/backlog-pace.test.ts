import type { Runtime } from 'quittance';
import { defineTool } from 'quittance';
import { describe, expect, it } from 'vitest';
import { envelope, setStage } from '../../../../test/stage.ts';

const entries = 640;

/** A runtime with old entries. */
async function withBacklog(): Promise<Runtime> {
  const { runtime, turn } = setStage({ tools: [defineTool({ name: 'look', mode: 'read', run: () => 1 })] });
  for (let n = 0; n < entries; n++) await turn.call(envelope(`c${n}`, 'look', { n }));
  return runtime;
}

/** How many turns the event loop makes until the work is done. */
async function countTurns(work: () => Promise<void>): Promise<number> {
  let turns = 0;
  let next: NodeJS.Immediate;
  const count = (): void => {
    turns++;
    next = setImmediate(count);
  };
  next = setImmediate(count);
  await work();
  clearImmediate(next);
  return turns;
}

describe('the event loop runs while old entries are read', () => {
  it('the event loop runs while old entries are read by a behavior', async () => {
    const runtime = await withBacklog();
    let heard = 0;
    const turns = await countTurns(
      () =>
        new Promise((resolve) => {
          runtime.events.on({ name: 'count', on: 'tool.responded', from: 'start' }, () => {
            if (++heard === entries) resolve();
          });
        }),
    );
    expect(turns).toBeGreaterThanOrEqual(entries / 64 - 1);
    await runtime.close();
  });

  it('the event loop runs while old entries are read by a behavior that none of them concerns', async () => {
    const runtime = await withBacklog();
    const turns = await countTurns(
      () =>
        new Promise((resolve) => {
          runtime.events.on({ name: 'marked', on: 'app.marked', from: 'start' }, () => resolve());
          runtime.events.on(
            { name: 'mark', on: 'tool.responded', where: { callId: `c${entries - 1}` }, from: 'start' },
            (_, context) => context.emit('app.marked', {}),
          );
        }),
    );
    expect(turns).toBeGreaterThanOrEqual(entries / 64 - 1);
    await runtime.close();
  });

  it('the event loop runs while old entries are read by a tail of another session', async () => {
    const runtime = await withBacklog();
    await runtime.turn({ sessionId: 'other' }).call(envelope('c', 'look'));
    const turns = await countTurns(async () => {
      for await (const { event } of runtime.events.tail({ sessionId: 'other' }))
        if (event.type === 'tool.responded') return;
    });
    expect(turns).toBeGreaterThanOrEqual(entries / 64 - 1);
    await runtime.close();
  });
});
