/** Cursors of readers, and events that behaviors emit. */
import assert from 'node:assert/strict';
import { isEmittedEvent } from '../../call/emitted-event.ts';
import { readEntry } from '../../ledger/formats/v1/read-entry.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { emitting, flagged, moveSampleCursor, name, takeSampleCursor } from './sample-cursor.ts';
import {
  readCursor,
  listCursors,
  moveCursor,
  releaseCursor,
  takeCursor,
  dropCursor,
  findCalls,
  findOpenCalls,
  lastPosition,
} from '../../ledger/reads.ts';

export const cursorChecks: readonly Check[] = [
  [
    'a cursor does not exist until it is taken, and then starts where its first holder said',
    async ({ ledger }) => {
      assert.equal(await readCursor(ledger, name), undefined);
      assert.deepEqual(await listCursors(ledger), []);
      assert.equal(await moveCursor(ledger, moveSampleCursor(0, 1)), false);
      await releaseCursor(ledger, name, 'h');
      assert.equal(await readCursor(ledger, name), undefined);
      const { ownerId } = ledger;
      const taken = await takeCursor(ledger, { name, holder: 'h', startAfter: 5 });
      assert.deepEqual(taken, { name, position: 5, holder: 'h', ownerId });
      assert.deepEqual(await readCursor(ledger, name), taken);
      const again = await takeCursor(ledger, { name, holder: 'h', startAfter: 9 });
      assert.deepEqual(again, taken, 'the holder may take it again, and it keeps its position');
    },
  ],
  [
    'a cursor has one holder; another process learns who, and gets it once the holder releases it or is gone',
    async ({ ledger }) => {
      const first = await takeSampleCursor(ledger, 'first');
      assert.deepEqual(await takeSampleCursor(ledger, 'second'), first);
      assert.deepEqual(await takeSampleCursor(ledger, 'second', 'third'), first, 'another holder is gone');
      await moveCursor(ledger, moveSampleCursor(0, 3, 'first'));
      await releaseCursor(ledger, name, 'second');
      assert.equal((await takeSampleCursor(ledger, 'second')).holder, 'first');
      await releaseCursor(ledger, name, 'first');
      const free = { name, position: 3, holder: undefined, ownerId: undefined };
      assert.deepEqual(await readCursor(ledger, name), free);
      assert.equal((await takeSampleCursor(ledger, 'second')).holder, 'second');
      const { holder, position } = await takeSampleCursor(ledger, 'third', 'second');
      assert.deepEqual([holder, position], ['third', 3]);
      assert.equal(await moveCursor(ledger, moveSampleCursor(3, 4, 'second')), false, 'it was displaced');
      assert.equal((await takeSampleCursor(ledger, 'second')).holder, 'third');
    },
  ],
  [
    'of many concurrent takers of a free cursor one gets it, and all learn which',
    async ({ ledger }) => {
      const taken = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => takeSampleCursor(ledger, `h${n}`)),
      );
      assert.equal(new Set(taken.map(({ holder }) => holder)).size, 1);
    },
  ],
  [
    'a cursor moves only for its holder, and only from its current position',
    async ({ ledger }) => {
      await takeSampleCursor(ledger, 'h');
      assert.equal(await moveCursor(ledger, moveSampleCursor(0, 4)), true);
      assert.equal(await moveCursor(ledger, moveSampleCursor(0, 5)), false);
      assert.equal(await moveCursor(ledger, moveSampleCursor(4, 5, 'other')), false);
      assert.equal((await readCursor(ledger, name))?.position, 4);
      const moves = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => moveCursor(ledger, moveSampleCursor(4, 5 + n))),
      );
      assert.equal(moves.filter((isMoved) => isMoved).length, 1);
      const steps = Array.from({ length: 20 }, async (_, n) =>
        moveCursor(ledger, moveSampleCursor(5 + n, 6 + n)),
      );
      assert.ok(
        (await Promise.all(steps)).every((isMoved) => isMoved),
        'in the order of the requests',
      );
      await releaseCursor(ledger, name, 'h');
      assert.equal(await moveCursor(ledger, moveSampleCursor(25, 26)), false, 'it has no holder');
    },
  ],
  [
    'cursors are listed by name, whatever their names, and each is dropped separately',
    async ({ ledger }) => {
      const names = ['b', 'a\u0000', '__proto__', '', 'a', '\ud800', 'é', '\u0001"x"'];
      for (const [index, one] of names.entries())
        await takeCursor(ledger, { name: one, holder: `\u0000${one}`, startAfter: index });
      const listed = await listCursors(ledger);
      assert.deepEqual(
        listed.map((cursor) => cursor.name),
        names.toSorted(),
      );
      for (const [index, one] of names.entries()) {
        const { position, holder } = (await readCursor(ledger, one)) ?? {};
        assert.deepEqual([position, holder], [index, `\u0000${one}`]);
      }
      assert.equal(await dropCursor(ledger, 'a'), true);
      assert.equal(await dropCursor(ledger, 'a'), false);
      assert.equal((await listCursors(ledger)).length, names.length - 1);
      const anew = await takeCursor(ledger, { name: 'a', holder: 'h', startAfter: 1 });
      assert.equal(anew.position, 1, 'a dropped cursor starts over');
    },
  ],
  [
    'an emitted event is stored together with its position, or neither is',
    async ({ ledger }) => {
      await takeSampleCursor(ledger, 'h');
      assert.deepEqual(await ledger.append(emitting('a', moveSampleCursor(0, 1))), {
        status: 'appended',
        version: 0,
      });
      assert.equal((await readCursor(ledger, name))?.position, 1);
      const stale = await ledger.append(emitting('b', moveSampleCursor(0, 1)));
      assert.deepEqual(stale, { status: 'displaced', holder: 'h', position: 1 });
      const other = await ledger.append(emitting('b', moveSampleCursor(1, 2, 'other')));
      assert.deepEqual(other, { status: 'displaced', holder: 'h', position: 1 });
      await releaseCursor(ledger, name, 'h');
      const free = await ledger.append(emitting('b', moveSampleCursor(1, 2)));
      assert.deepEqual(free, { status: 'displaced', holder: undefined, position: 1 });
      const none = await ledger.append(emitting('b', { ...moveSampleCursor(1, 2), name: 'none' }));
      assert.deepEqual(none, { status: 'displaced', holder: undefined, position: 0 });
      assert.equal((await ledger.readSession('session')).length, 1);
      assert.equal((await ledger.readEntries({ limit: 10 })).length, 1);
    },
  ],
  [
    'a cursor keeps its position when its entry is refused for another reason',
    async ({ ledger }) => {
      await takeSampleCursor(ledger, 'h');
      const cursor = moveSampleCursor(0, 1);
      assert.equal((await ledger.append(emitting('a', cursor, { callId: 'none' }))).status, 'conflict');
      const reserve = [{ counter: 'n', amount: 2, limit: 1 }];
      assert.equal((await ledger.append({ ...emitting('a', cursor), reserve })).status, 'exhausted');
      const guards = [{ subject: 'workflow/w', expectedVersion: 3 }];
      assert.equal((await ledger.append({ ...emitting('a', cursor), guards })).status, 'moved');
      assert.equal((await readCursor(ledger, name))?.position, 0);
      assert.deepEqual(await ledger.readSession('session'), []);
    },
  ],
  [
    'of many concurrent entries that move a cursor from one position, one is stored',
    async ({ ledger }) => {
      await takeSampleCursor(ledger, 'h');
      const results = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => ledger.append(emitting(`e${n}`, moveSampleCursor(0, 1)))),
      );
      assert.equal(results.filter(({ status }) => status === 'appended').length, 1);
      assert.equal(results.filter(({ status }) => status === 'displaced').length, 19);
      assert.equal((await ledger.readSession('session')).length, 1);
    },
  ],
  [
    'an emitted event is read with its session and its call, and does not change the call',
    async ({ ledger }) => {
      const call = new SampleCall('c');
      await ledger.append(call.begin());
      const about = emitting('a', undefined, { callId: 'c' });
      assert.deepEqual(await ledger.append(about), { status: 'appended', version: 1 });
      await ledger.append(call.end());
      await ledger.append(emitting('b'));
      const stored = await ledger.readCall('session', 'c');
      assert.equal(stored?.version, 2);
      assert.deepEqual(stored.events.filter(isEmittedEvent), about.events);
      const emitted = (await ledger.readSession('session')).filter(isEmittedEvent);
      assert.deepEqual(emitted, [...about.events, flagged('b')]);
      const [row, ...others] = (await findCalls(ledger, {})).rows;
      assert.deepEqual([row?.status, row?.callId, others.length], ['settled', 'c', 0]);
      assert.deepEqual(await findOpenCalls(ledger), []);
      const entries = (await ledger.readEntries({ limit: 10 })).map(readEntry);
      assert.deepEqual(
        entries.map(({ depth }) => depth),
        [0, 1, 0, 1],
      );
      assert.deepEqual(entries[3]?.events, [flagged('b')]);
    },
  ],
  [
    "a host's own event cannot have one of our types",
    async ({ ledger }) => {
      for (const type of ['tool.responded', 'tool.invented', 'retry.requested', 'flagged', 'Order.flagged'])
        await assert.rejects(async () => ledger.append(emitting('a', undefined, { type })), {
          code: 'config.invalid',
        });
      assert.deepEqual(await ledger.readSession('session'), []);
    },
  ],
  [
    'erasure, removal and rebuilding leave cursors alone; emitted events are erased like any others',
    async ({ ledger }) => {
      await takeSampleCursor(ledger, 'h');
      await ledger.append(emitting('a', moveSampleCursor(0, 1)));
      const before = await readCursor(ledger, name);
      assert.equal(await ledger.erase({ sessionId: 'session', by: 'Ada', reason: 'asked' }), 1);
      const [erased] = await ledger.readSession('session');
      assert.deepEqual(erased, flagged('a', { data: {} }));
      await ledger.rebuild();
      assert.deepEqual(await readCursor(ledger, name), before);
      await ledger.dropSession({ sessionId: 'session', by: 'Ada', reason: 'asked' });
      await ledger.rebuild();
      assert.deepEqual(await listCursors(ledger), [before]);
    },
  ],
  [
    'positions keep rising, so a cursor never skips an entry after a removal',
    async ({ ledger }) => {
      assert.equal(await lastPosition(ledger), 0);
      await ledger.append(emitting('a'));
      await ledger.append({
        ...emitting('b'),
        sessionId: 'other',
        events: [flagged('b', { sessionId: 'other' })],
      });
      const before = (await ledger.readEntries({ limit: 10 })).at(-1)?.position ?? 0;
      await ledger.dropSession({ sessionId: 'other', by: 'Ada', reason: 'asked' });
      const after = await ledger.readEntries({ after: before, limit: 10 });
      assert.equal(after.length, 1, 'the record of the removal comes after it');
      const all = (await ledger.readEntries({ limit: 10 })).map(({ position }) => position);
      assert.deepEqual(
        all,
        all.toSorted((left, right) => left - right),
      );
      assert.equal(all.length, 2);
      assert.equal(await lastPosition(ledger), all[1]);
    },
  ],
  [
    'a closed ledger neither takes nor moves a cursor',
    async ({ ledger }) => {
      await ledger.close();
      await assert.rejects(async () => takeSampleCursor(ledger, 'h'), { code: 'ledger.closed' });
      await assert.rejects(async () => moveCursor(ledger, moveSampleCursor(0, 1)), {
        code: 'ledger.closed',
      });
    },
  ],
];
