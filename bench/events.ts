/**
 * Measures the delivery of events: a ledger with calls, and 1, 10 and 100 behaviors that receive every
 * `tool.responded`, durable and ephemeral. For comparison, it also measures reading and decoding the entries alone.
 *
 *   npm run bench:events -- [--calls 20000]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { readEntry } from '../packages/quittance/src/ledger/formats/v1/read-entry.ts';
import { createProgress } from './progress.ts';
import { printTable } from './table.ts';

const at = process.argv.indexOf('--calls');
const calls = at < 0 ? 20_000 : Number(process.argv[at + 1]);
const tool = defineTool({ name: 'get_it', mode: 'read', loopLimit: 1e9, run: (args) => args });
const folder = mkdtempSync(join(tmpdir(), 'quittance-events-'));

async function fill(ledger: OpenLedger): Promise<void> {
  const runtime = createRuntime({ tools: [tool], ledger });
  const progress = createProgress('filling', calls);
  let made = 0;
  await Promise.all(
    Array.from({ length: 64 }, async (_, lane) => {
      const turn = runtime.turn({ sessionId: `s${lane}` });
      while (made < calls) {
        const n = made++;
        await turn.call({ id: `c${n}`, name: 'get_it', arguments: { city: 'Lyon', n } });
        progress.step();
      }
    }),
  );
  await runtime.close();
  progress.done();
}

async function readAlone(ledger: OpenLedger): Promise<number> {
  const startedAt = performance.now();
  let after = 0;
  let events = 0;
  for (;;) {
    const entries = await ledger.readEntries({ after, limit: 256 });
    const last = entries.at(-1);
    if (last === undefined) return (events / (performance.now() - startedAt)) * 1_000;
    for (const entry of entries)
      events += readEntry(entry).events.filter(({ type }) => type === 'tool.responded').length;
    after = last.position;
  }
}

/** Events delivered per second, over all subscribers. */
async function deliver(ledger: OpenLedger, subscribers: number, ephemeral: boolean): Promise<number> {
  const runtime = createRuntime({ tools: [tool], ledger });
  let heard = 0;
  const startedAt = performance.now();
  if (ephemeral) {
    await Promise.all(
      Array.from({ length: subscribers }, async () => {
        let mine = 0;
        for await (const _ of runtime.events.tail({ types: ['tool.responded'] })) {
          heard++;
          if (++mine === calls) return;
        }
      }),
    );
  } else {
    const behaviors = Array.from({ length: subscribers }, (_, n) =>
      runtime.events.on(
        { name: `b${subscribers}-${n}`, on: 'tool.responded', from: 'start' },
        () => void heard++,
      ),
    );
    await Promise.all(behaviors.map((behavior) => behavior.caughtUp()));
  }
  const perSecond = (heard / (performance.now() - startedAt)) * 1_000;
  if (heard !== calls * subscribers)
    throw new Error(`${heard} of ${calls * subscribers} events were delivered`);
  await runtime.close();
  return perSecond;
}

const ledger = await openLedger(join(folder, 'ledger.db'), { synchronous: 'normal' });
const figures: Record<string, number> = {};
const rows: string[][] = [];
const note = (name: string, perSecond: number, alone: number): void => {
  figures[name.replaceAll(/\W+/g, '_')] = Math.round(perSecond);
  rows.push([name, Math.round(perSecond).toLocaleString('en'), (perSecond / alone).toFixed(2)]);
};
try {
  await fill(ledger);
  await readAlone(ledger);
  const alone = await readAlone(ledger);
  note('read and decode alone', alone, alone);
  for (const subscribers of [1, 10, 100])
    note(`tail, ${subscribers} readers`, await deliver(ledger, subscribers, true), alone);
  for (const subscribers of [1, 10, 100])
    note(`durable behaviors, ${subscribers}`, await deliver(ledger, subscribers, false), alone);
} finally {
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${calls} calls, events delivered to all subscribers together.\n`);
printTable(['what', 'events/s', 'of reading alone'], rows);
console.log(JSON.stringify({ bench: 'events', calls, figures }));
