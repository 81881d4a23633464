/** Notifications of processes that are killed while they send. */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { packageArguments } from '../frameworks/suite/package-arguments.ts';
import type { Errand } from './crash-actor.ts';
import type { Receiver } from './receiver.ts';
import { openReceiver } from './receiver.ts';

let folder: string;
let receiver: Receiver;
const children: ChildProcess[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-notifications-'));
  receiver = await openReceiver();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

function run(calls: readonly string[]): ChildProcess {
  const settings = `apiVersion: quittance/v1
kind: Notifications
targets:
  audit: { type: webhook, url: '${receiver.url}', secret: ${Buffer.alloc(32, 1).toString('base64')}, allowPrivate: true }
rules:
  - { on: [held], tell: [audit] }`;
  const errand: Errand = { ledger: join(folder, 'ledger.db'), settings, calls };
  const child = fork(join(import.meta.dirname, 'crash-actor.ts'), [JSON.stringify(errand)], {
    execArgv: [...packageArguments()],
  });
  children.push(child);
  return child;
}

it('[nothing-lost] a process killed after each message arrived: none is lost, and a repeat says that it may be one', async () => {
  const ids = ['a', 'b', 'c'];
  let killed = 0;
  let current = run(ids);
  receiver.onMessage = async () => {
    if (killed === 4) return;
    killed++;
    // It has sent the message and never reads the answer.
    current.kill('SIGKILL');
    await once(current, 'exit');
    current = run([]);
  };
  // After three kills the runtime stops delivering the event. It is then delivered again behind the others.
  const received = await receiver.waitFor(7);
  const deliveries = received.map(({ headers }) => ({
    id: headers['webhook-id'],
    delivery: Number(headers['quittance-delivery']),
  }));
  expect(new Set(deliveries.map(({ id }) => id)).size).toBe(3);
  // Four repeats, one for each kill, and each says that it is one.
  const repeats = deliveries.filter(
    ({ id }, index) => deliveries.findIndex((each) => each.id === id) < index,
  );
  expect(repeats).toHaveLength(4);
  for (const { delivery } of repeats) expect(delivery).toBeGreaterThan(1);
});
