/** Behaviors that set each other off for ever, whatever becomes of their processes, are cut. */
import { createRuntime, defineTool } from 'quittance';
import { createManualClock } from 'quittance/testing';
import { expect, it } from 'vitest';
import { createMortalLedger } from '../mortal-ledger.ts';
import { deferred, envelope } from '../stage.ts';

it('a circle of behaviors is cut although its process is killed each time around', async () => {
  const clock = createManualClock();
  const mortal = createMortalLedger(clock);
  let rounds = 0;
  let cut = false;
  for (; rounds < 60 && !cut; rounds++) {
    const { ledger, kill } = mortal.open();
    const inBody = deferred();
    let ran = 0;
    // Each process ends the call the last one left behind, and dies in the body of the call that follows from it.
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
