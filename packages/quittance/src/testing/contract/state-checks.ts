import assert from 'node:assert/strict';
import type { JsonObject } from '../../base/json.ts';
import type { Entry } from '../../ledger/journal.ts';
import { workflowSubject } from '../../ledger/last-state.ts';
import { SampleCall } from '../sample-call.ts';
import type { Check } from './check.ts';
import { readState, readCounters } from '../../ledger/reads.ts';

const subject = workflowSubject('w');

/** An entry without a call that moves the workflow. */
const moving = (name: string, expectedVersion: number, state: JsonObject): Entry => ({
  entryId: name,
  sessionId: 'session',
  callId: undefined,
  expectedVersion: 0,
  events: [
    {
      id: `evt-${name}`,
      type: 'workflow.updated',
      sessionId: 'session',
      turnId: 't',
      at: 5,
      cause: undefined,
      workflow: 'w',
      workflowVersion: undefined,
      state,
      why: 'evidence',
      by: undefined,
    },
  ],
  moves: [{ subject, expectedVersion }],
});

export const stateChecks: readonly Check[] = [
  [
    'a subject that never moved has no state; otherwise it has the state of its last event',
    async ({ ledger }) => {
      assert.equal(await readState(ledger, 'session', subject), undefined);
      assert.equal((await ledger.append(moving('a', 0, { at: 1 }))).status, 'appended');
      const twice = moving('b', 1, { at: 2 });
      const [event] = twice.events;
      assert.ok(event?.type === 'workflow.updated');
      const later = { ...event, id: 'evt-later', state: { at: 3, text: '\u0000"\ud800' } };
      assert.equal((await ledger.append({ ...twice, events: [event, later] })).status, 'appended');
      assert.deepEqual(await readState(ledger, 'session', subject), {
        version: 2,
        state: later.state,
      });
      assert.equal(await readState(ledger, 'session', workflowSubject('other')), undefined);
      assert.equal(await readState(ledger, 'elsewhere', subject), undefined);
    },
  ],
  [
    'an entry with an old version of a subject gets the new one, and nothing is stored',
    async ({ ledger }) => {
      await ledger.append(moving('a', 0, { at: 1 }));
      const begin = new SampleCall('c').begin();
      for (const expectedVersion of [0, 2]) {
        const refused: Entry = {
          ...begin,
          events: [...begin.events, ...moving('b', 0, { at: 2 }).events],
          moves: [{ subject, expectedVersion }],
          reserve: [{ counter: 'n', amount: 1, limit: 9 }],
        };
        assert.deepEqual(await ledger.append(refused), { status: 'moved', subject, version: 1 });
      }
      assert.equal(await ledger.readCall('session', 'c'), undefined);
      assert.deepEqual(await readCounters(ledger, ['n']), [{ used: 0, reserved: 0 }]);
      assert.deepEqual(await readState(ledger, 'session', subject), { version: 1, state: { at: 1 } });
    },
  ],
  [
    'a guard refuses if its subject has moved, and does not move it',
    async ({ ledger }) => {
      const guarded = (name: string, expectedVersion: number): Entry => ({
        ...new SampleCall(name).begin(),
        reserve: [{ counter: 'n', amount: 1, limit: 9 }],
        guards: [{ subject, expectedVersion }],
      });
      assert.equal((await ledger.append(guarded('never', 0))).status, 'appended');
      await ledger.append(moving('a', 0, { at: 1 }));
      for (const expectedVersion of [0, 2]) {
        const refused = guarded('c', expectedVersion);
        assert.deepEqual(await ledger.append(refused), { status: 'moved', subject, version: 1 });
      }
      assert.equal(await ledger.readCall('session', 'c'), undefined);
      assert.equal((await ledger.append(guarded('d', 1))).status, 'appended');
      assert.deepEqual(await readCounters(ledger, ['n']), [{ used: 0, reserved: 2 }]);
      assert.deepEqual(await readState(ledger, 'session', subject), { version: 1, state: { at: 1 } });
      assert.equal((await ledger.append(moving('b', 1, { at: 2 }))).status, 'appended');
    },
  ],
  [
    'of a concurrent guard and move from one version, the guarded entry comes first or is refused',
    async ({ ledger }) => {
      await ledger.append(moving('a', 0, { at: 1 }));
      const [guarded, moved] = await Promise.all([
        ledger.append({ ...new SampleCall('c').begin(), guards: [{ subject, expectedVersion: 1 }] }),
        ledger.append(moving('b', 1, { at: 2 })),
      ]);
      assert.equal(moved.status, 'appended');
      const types = (await ledger.readSession('session')).map(({ type }) => type);
      if (guarded.status === 'appended')
        assert.ok(types.indexOf('tool.requested') < types.lastIndexOf('workflow.updated'));
      else assert.equal(guarded.status, 'moved');
    },
  ],
  [
    'of many concurrent moves of a subject from one version, one succeeds',
    async ({ ledger }) => {
      const results = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => ledger.append(moving(`e${n}`, 0, { n }))),
      );
      assert.equal(results.filter(({ status }) => status === 'appended').length, 1);
      assert.equal(results.filter(({ status }) => status === 'moved').length, 19);
    },
  ],
  [
    'a state is removed with its session',
    async ({ ledger }) => {
      await ledger.append(moving('a', 0, { at: 1 }));
      assert.equal(await ledger.dropSession({ sessionId: 'session', by: 'Ada', reason: 'asked' }), true);
      assert.equal(await readState(ledger, 'session', subject), undefined);
      assert.equal((await ledger.append(moving('b', 0, { at: 2 }))).status, 'appended');
    },
  ],
  [
    'erasing a whole session erases the content of a state, but not the fact that it moved',
    async ({ ledger }) => {
      await ledger.append(moving('a', 0, { secret: 'Ada' }));
      assert.equal(await ledger.erase({ sessionId: 'session', by: 'Ada', reason: 'asked' }), 1);
      assert.deepEqual(await readState(ledger, 'session', subject), { version: 1, state: {} });
    },
  ],
];
