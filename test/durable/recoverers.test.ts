/** Two processes recover the calls of a dead one: neither touches a call that the other has taken. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Runtime } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, expect, it } from 'vitest';
import { deferred, envelope, expectSettledOnce, quiet } from '../stage.ts';
import { alterLedger } from '../alter-ledger.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-recoverers-'));
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  rmSync(folder, { recursive: true, force: true });
});

it('[one-outcome] [no-silent-rerun] a call that another process took after the orphans were listed is left to it', async () => {
  const finished = deferred();
  const ran: string[] = [];
  const start = (name: string, ledger: OpenLedger): Runtime => {
    const remove = defineTool({
      name: 'delete_it',
      run: async () => {
        ran.push(name);
        await finished.promise;
        return 'deleted';
      },
    });
    return createRuntime({ ledger, tools: name === 'inbox' ? [] : [remove] });
  };
  const open = (): Promise<OpenLedger> => openLedger(join(folder, 'ledger.db'));

  // Its owner is dead, and it is approved afterwards: the first process that finds it runs it.
  const first = await open();
  const holder = start('holder', first);
  void holder
    .turn({ sessionId: 's' })
    .call(envelope('c', 'delete_it'))
    .catch(() => undefined);
  while ((await holder.confirmations.list({ status: 'pending' })).rows.length === 0) await quiet();
  await holder.close();
  await first.close();
  const second = await open();
  const inbox = start('inbox', second);
  const [asked] = (await inbox.confirmations.list({ status: 'pending' })).rows;
  await inbox.confirmations.decide(asked?.confirmationId ?? '', {
    decision: 'approve',
    by: 'ada',
    inputDigest: asked?.inputDigest ?? '',
  });

  const taker = start('taker', second);
  const third = await open();
  let recovering: Promise<unknown> | undefined;
  const late = start(
    'late',
    alterLedger(third, {
      spill: {
        // After the orphans were listed, before they are taken: the other process is faster.
        read: async () => {
          recovering ??= taker.recover();
          while (!ran.includes('taker')) await quiet();
          return third.spill.read();
        },
      },
    }),
  );
  closing.push(
    () => Promise.all([late.close(), taker.close(), inbox.close()]),
    () => Promise.all([third.close(), second.close()]),
  );
  const found = await late.recover().finally(() => finished.resolve());
  expect(found).toEqual([]);
  await recovering;
  const [call] = await late.calls.list({ sessionId: 's', callId: 'c' });
  expect(call?.settled?.outcome).toMatchObject({
    type: 'ToolExecutionResult',
    output: 'deleted',
  });
  expect(ran).toEqual(['taker']);
  await expectSettledOnce(late);
});
