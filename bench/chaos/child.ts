/**
 * One process of the chaos run. It makes calls of every kind, decides calls of others and works on hand-offs. On
 * order it disturbs itself: it runs out of descriptors or disk, or its clock jumps.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Runtime } from 'quittance';
import { createRuntime, isQuittanceError } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { systemClock } from '../../packages/quittance/src/base/deadlines.ts';
import { openLedgerFile } from '../../test/durable/ledger-file.ts';
import { createRandom } from '../tamper/edit.ts';
import type { Errand, Order, Said, ToldLine } from './errand.ts';
import { makeTools } from './tools.ts';

const errand = JSON.parse(process.argv[2] ?? '{}') as Errand; // written by the parent process
const random = createRandom(errand.seed);
const say = (said: Said): void => void (process.connected && process.send?.(said));
// Opened once: a process without free descriptors must still record its answers.
const [toldFile, effectsFile] = [openSync(errand.told, 'a'), openSync(errand.effects, 'a')];

let jumpedMs = 0;
const clock = { ...systemClock, now: () => Date.now() + jumpedMs };
// Several processes may create the file at once, which only the public function handles.
await (await openLedger(errand.ledger)).close();
const { ledger, ...disk } = openLedgerFile(errand.ledger, undefined, clock);
const runtime: Runtime = createRuntime({
  ledger,
  clock,
  tools: makeTools((key) => void writeSync(effectsFile, `${key}\n`), random),
});

let isClosing = false;
/** Pending work, so that a process that does not close can say why. */
const underWay = new Set<string>();
let count = 0;

/** Records the answer to the call. Our own errors are expected, others are not. */
async function ask(sessionId: string, id: string, name: string, args: object): Promise<void> {
  const what = `${name} ${sessionId}/${id} since ${new Date().toISOString()}`;
  underWay.add(what);
  try {
    const turn = runtime.turn({ sessionId, timeoutMs: 5_000 });
    const outcome = await turn.call({ id, name, arguments: { ...args } });
    const line: ToldLine = { sessionId, callId: id, outcome };
    writeSync(toldFile, `${JSON.stringify(line)}\n`);
  } catch (error) {
    hear(`call ${name}`, error);
  } finally {
    underWay.delete(what);
  }
}

function hear(where: string, error: unknown): void {
  if (!isQuittanceError(error)) say({ type: 'bare', where, error: String((error as Error).stack ?? error) });
}

async function makeOneCall(): Promise<void> {
  const n = count++;
  const own = `${errand.name}-${Math.floor(n / 40)}`;
  // Calls that all processes make at about the same time: the number follows the machine's clock, which does not
  // jump.
  const shared = `${Math.floor(Date.now() / 2_000)}-${random(6)}`;
  switch (random(10)) {
    case 0:
    case 1:
      return ask(own, `p${n}`, 'pay', { n });
    case 2:
      return ask(`shared-${shared}`, 'same', 'pay', {});
    case 3:
      return ask(own, `k${n}`, 'order', { key: `key-${shared}` });
    case 4:
      return ask(own, `u${n}`, 'put', { n });
    case 5:
    case 6:
      return ask(own, `g${n}`, 'get_it', { n });
    case 7:
      return ask(own, `d${n}`, 'delete_it', { n, password: `secret-${n}-of-${errand.name}` });
    case 8:
      return ask(own, `s${n}`, 'ship', { n });
    default:
      return ask(own, `a${n}`, 'print_it', { n });
  }
}

async function decideSome(): Promise<void> {
  const { rows } = await runtime.confirmations.list({ status: 'pending', limit: 10 });
  for (const { confirmationId, inputDigest } of rows)
    await runtime.confirmations
      .decide(confirmationId, {
        decision: random(3) === 0 ? 'deny' : 'approve',
        by: errand.name,
        inputDigest,
      })
      .catch((error: unknown) => hear('decide', error));
}

async function workOff(): Promise<void> {
  const claim = await runtime.handoffs.claim({ toolName: 'ship' }, { worker: errand.name, leaseMs: 2_000 });
  if (claim === undefined) return;
  writeSync(effectsFile, `${claim.sessionId}/${claim.callId}\n`);
  // Some workers never report.
  if (random(8) > 0) await runtime.handoffs.report(claim.token, { output: { done: true } });
}

/** Repeats the work until the process closes. */
async function repeat(where: string, everyMs: number, work: () => Promise<void>): Promise<void> {
  while (!isClosing) {
    underWay.add(where);
    await work().catch((error: unknown) => hear(where, error));
    underWay.delete(where);
    await sleep(everyMs + random(everyMs));
  }
}

const descriptors: number[] = [];
function starve(): void {
  try {
    for (;;) descriptors.push(openSync('/dev/null', 'r'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error;
  }
}

process.on('message', (message) => {
  const order = message as Order;
  switch (order.type) {
    case 'fill':
    case 'free':
    case 'protect':
    case 'release':
      return disk[order.type]();
    case 'starve':
      return starve();
    case 'feed':
      return descriptors.splice(0).forEach((descriptor) => closeSync(descriptor));
    case 'jump':
      jumpedMs += order.byMs;
      return;
    case 'close':
      isClosing = true;
      setTimeout(
        () => process.stderr.write(`Still waiting for: ${[...underWay].join(', ')}\n`),
        60_000,
      ).unref();
      return;
  }
});

say({ type: 'ready', ownerId: ledger.ownerId });
await Promise.all([
  ...Array.from({ length: 6 }, () => repeat('call', 15, makeOneCall)),
  repeat('confirmations', 60, decideSome),
  repeat('hand-offs', 40, workOff),
]);
underWay.add('closing');
await runtime.close().catch((error: unknown) => hear('close the runtime', error));
await ledger.close().catch((error: unknown) => hear('close the ledger', error));
if (process.connected) process.disconnect();
