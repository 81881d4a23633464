/** A process that awaits another process stays alive until it gets an answer. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packageArguments } from '../frameworks/suite/package-arguments.ts';
import { deferred, envelope } from '../stage.ts';
import type { CallOrder, Play } from './play.ts';
import { openPlay } from './play.ts';
import { findConfirmations } from '../../packages/quittance/src/ledger/reads.ts';

let play: Play;
beforeEach(async () => {
  play = await openPlay();
});
afterEach(() => play.end());

/** Runs a program that prints `waiting` before its wait and its answer after it. Returns how it ended. */
async function waitIn(
  program: string,
  answer: () => Promise<unknown>,
): Promise<{ code: unknown; said: string[] }> {
  const text = `
    import { createRuntime, defineTool } from 'quittance';
    import { openLedger } from 'quittance/ledger';
    const ledger = await openLedger(${JSON.stringify(play.ledger)});
    const order = defineTool({
      name: 'order', mode: 'external', idempotencyScope: 'ledger', idempotencyKey: () => 'k', run: () => 'again',
    });
    const runtime = createRuntime({ ledger, tools: [order] });
    ${program}
    process.exitCode = 7;
    await runtime.close();
    await ledger.close();`;
  const child = spawn(process.execPath, [...packageArguments(), '--input-type=module', '-e', text], {
    cwd: join(import.meta.dirname, '../..'),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit') as Promise<[unknown]>;
  const said: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    said.push(line);
    if (line === 'waiting') await answer();
  }
  const [code] = await ended;
  return { code, said };
}

describe('[one-outcome] a process that waits for another', () => {
  it('[one-outcome] stays alive for the holder of the same key', async () => {
    const ledger = await openLedger(play.ledger);
    const body = deferred<string>();
    const started = deferred();
    const order = defineTool({
      name: 'order',
      mode: 'external',
      idempotencyScope: 'ledger',
      idempotencyKey: () => 'k',
      run: () => (started.resolve(), body.promise),
    });
    const runtime = createRuntime({ ledger, tools: [order] });
    const first = runtime.turn({ sessionId: 'a' }).call(envelope('one', 'order'));
    await started.promise;
    const { code, said } = await waitIn(
      `const asked = runtime.turn({ sessionId: 'b' }).call({ id: 'two', name: 'order', arguments: {} });
       setTimeout(() => console.log('waiting'), 100);
       console.log((await asked).output);`,
      async () => {
        // Long enough for an idle process to have ended.
        await new Promise((resolve) => setTimeout(resolve, 300));
        body.resolve('done');
        await first;
      },
    );
    expect({ code, said }).toEqual({ code: 7, said: ['waiting', 'done'] });
    await runtime.close();
    await ledger.close();
  });

  it('[one-outcome] stays alive for the next event of a tail', async () => {
    const ledger = await openLedger(play.ledger);
    const runtime = createRuntime({
      ledger,
      tools: [defineTool({ name: 'get_it', mode: 'read', run: () => 1 })],
    });
    const { code, said } = await waitIn(
      `setTimeout(() => console.log('waiting'), 100);
       for await (const { event } of runtime.events.tail()) { console.log(event.type); break; }`,
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        await runtime.turn({ sessionId: 's' }).call(envelope('a', 'get_it'));
      },
    );
    expect({ code, said }).toEqual({ code: 7, said: ['waiting', 'turn.opened'] });
    await runtime.close();
    await ledger.close();
  });
});

describe('[one-outcome] if the other process is killed meanwhile', () => {
  /** A process whose body hangs, and another that makes a call after it. */
  async function meet(first: CallOrder, second: CallOrder): Promise<{ answer: Promise<unknown> }> {
    const [one, other] = await Promise.all([play.start({ afterwards: 'hang' }), play.start()]);
    one.tell({ type: 'call', ...first }).catch(() => undefined);
    await one.reached;
    const answer = other.tell({ type: 'call', ...second });
    // Takes longer than the way of the other call to its wait.
    await other.call('elsewhere', 'put', {}, 'elsewhere');
    await one.kill();
    return { answer };
  }

  it('[one-outcome] [no-silent-rerun] a repeated call ends as indeterminate', async () => {
    const call: CallOrder = { sessionId: 's', callId: 'a', tool: 'pay' };
    const { answer } = await meet(call, call);
    expect(await answer).toMatchObject({ type: 'ToolFailure', code: 'tool.indeterminate' });
    expect(play.world.count('a')).toBe(1);
  });

  it('[one-outcome] [no-silent-rerun] a call with the same key asks a person', async () => {
    const order = { tool: 'order', args: { key: 'k' } };
    await meet({ sessionId: 's', callId: 'a', ...order }, { sessionId: 't', callId: 'b', ...order });
    const ledger = await openLedger(play.ledger, { readOnly: true });
    await expect
      .poll(async () => (await findConfirmations(ledger, { status: 'pending' })).rows)
      .toMatchObject([{ sessionId: 't', callId: 'b' }]);
    expect(play.world.count('k')).toBe(1);
    await ledger.close();
  });
});
