/**
 * Handles that append to one file in any order. Whichever handle is asked, the version and the entries of a call are those that were appended.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rounds } from '../../../../../test/rounds.ts';
import { SampleCall } from '../../testing/sample-call.ts';
import { openSqliteLedger } from './open-sqlite-ledger.ts';
import type { SqliteLedger } from './sqlite-ledger.ts';

type Step =
  | { readonly type: 'begin'; readonly handle: number; readonly session: number }
  | { readonly type: 'end' | 'remark' | 'repeat' | 'read'; readonly handle: number; readonly call: number }
  | { readonly type: 'reopen'; readonly handle: number };

const kinds = ['end', 'end', 'remark', 'remark', 'remark', 'repeat', 'read'] as const;
const handle = fc.nat(2);
const call = fc.nat(1_000);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('begin' as const), handle, session: fc.nat(3) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      // Mostly remarks: they name calls that the handle has not seen, and do not tell their version.
      type: fc.constantFrom(...kinds),
      handle,
      call,
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('reopen' as const), handle }) },
) satisfies fc.Arbitrary<Step>;

type Made = { readonly sample: SampleCall; hasEnded: boolean; entries: number };

test('every handle knows the versions and entries of all calls, in any order of appends', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 120, size: 'max' }), run), {
    numRuns: rounds(8),
    endOnFailure: true,
  });
});

async function run(steps: readonly Step[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-handles-'));
  const path = join(folder, 'ledger.db');
  const open = (): Promise<SqliteLedger> => openSqliteLedger(path, { synchronous: 'normal' });
  const handles = [await open(), await open(), await open()];
  const made: Made[] = [];
  for (const each of steps) {
    const ledger = handles[each.handle] as SqliteLedger; // there are three
    if (each.type === 'reopen') {
      await ledger.close();
      handles[each.handle] = await open();
    } else if (each.type === 'begin') {
      made.push(await begin(ledger, `call-${made.length}`, `s${each.session}`));
    } else if (made.length > 0) await takeStep(each.type, ledger, made[each.call % made.length] as Made);
  }
  for (const ledger of handles) for (const one of made) await expectKnown(ledger, one);
  for (const ledger of handles) await ledger.close();
  rmSync(folder, { recursive: true });
}

async function begin(ledger: SqliteLedger, callId: string, sessionId: string): Promise<Made> {
  const sample = new SampleCall(callId, { sessionId });
  expect(await ledger.append(sample.begin())).toEqual({ status: 'appended', version: 1 });
  return { sample, hasEnded: false, entries: 1 };
}

async function takeStep(
  type: 'end' | 'remark' | 'repeat' | 'read',
  ledger: SqliteLedger,
  one: Made,
): Promise<void> {
  const { sample } = one;
  if (type === 'read') await expectKnown(ledger, one);
  else if (type === 'repeat') {
    const again = new SampleCall(sample.callId, { sessionId: sample.sessionId }).begin();
    expect(await ledger.append(again)).toEqual({ status: 'conflict', version: sample.version });
  } else if (one.hasEnded) {
    if (type === 'end') return;
    expect(await ledger.append(sample.recall())).toEqual({
      status: 'appended',
      version: sample.version,
    });
    one.entries++;
  } else if (type === 'end') {
    const entry = sample.end();
    expect(await ledger.append(entry)).toEqual({ status: 'appended', version: 2 });
    one.hasEnded = true;
    one.entries++;
  }
}

async function expectKnown(ledger: SqliteLedger, { sample, entries }: Made): Promise<void> {
  const { sessionId, callId, version } = sample;
  const stored = await ledger.readCall(sessionId, callId);
  expect([callId, stored?.version]).toEqual([callId, version]);
  // A call begins with three events, and each later entry has one.
  expect([callId, stored?.events.length]).toEqual([callId, entries + 2]);
}
