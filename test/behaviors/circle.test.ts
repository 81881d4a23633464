/** Behaviors that trigger each other for ever are stopped, even if their processes die. */
import { createRuntime, defineTool } from 'quittance';
import { createManualClock } from 'quittance/testing';
import { expect, it } from 'vitest';
import { createMortalLedger } from '../mortal-ledger.ts';
import { deferred, envelope } from '../stage.ts';

it('a loop of behaviors is stopped even if its process is killed in each round', async () => {
  const clock = createManualClock();
  const mortal = createMortalLedger(clock);
  let rounds = 0;
  let cut = false;
  for (; rounds < 60 && !cut; rounds++) {
    const { ledger, kill } = mortal.open();
    const inBody = deferred();
    let ran = 0;
    // Each process ends the call that the last one left, and dies in the body of the next call.
    const step = defineTool({
      name: 'step',
      mode: 'external',
      idempotent: true,
      run: () => {
        if (ran++ === 0 && rounds > 0) return 'done';
        inBody.resolve();
        return new Promise(() => undefined);
      },
    });
    const runtime = createRuntime({ tools: [step], ledger, clock });
    runtime.events.on({ name: 'circle', on: 'tool.responded', ephemeral: true }, (_, context) =>
      context.call({ name: 'step', arguments: {} }),
    );
    const ended = deferred();
    void (async () => {
      for await (const { event } of runtime.events.tail({ types: ['behavior.failed'] }))
        if ('reason' in event && event.reason === 'behavior.depth') ended.resolve();
    })();
    if (rounds === 0) void runtime.turn({ sessionId: 's' }).call(envelope('first', 'step'));
    else await runtime.recover();
    cut = await Promise.race([inBody.promise.then(() => false), ended.promise.then(() => true)]);
    kill();
  }
  expect(cut).toBe(true);
  expect(rounds).toBe(34);
});
