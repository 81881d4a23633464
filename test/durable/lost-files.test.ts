/** What a process does when it cannot open its files, or when they are no longer its files. */
import { copyFileSync, existsSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createRuntime, defineTool } from 'quittance';
import type { ToolOutcome } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { envelope, expectSettledOnce } from '../stage.ts';
import type { Play } from './play.ts';
import { openPlay } from './play.ts';

let play: Play;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  play = await openPlay();
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close().catch(() => undefined);
  play.end();
});

describe('[no-silent-rerun] a process without free descriptors', () => {
  it.each(['recovers', 'asks for the same call', 'makes a call of its own'])(
    '[no-silent-rerun] [one-outcome] leaves a payment in progress to its owner when it %s',
    async (how) => {
      const payer = await play.start({ afterwards: 'hang' });
      const paid = payer.call('a', 'pay');
      await payer.reached;
      const starving = await play.start({ descriptors: 96 });
      await starving.tell({ type: 'starve' });
      const joined = how === 'asks for the same call' ? starving.call('a', 'pay') : undefined;
      if (how === 'makes a call of its own') await starving.call('b', 'get_it').catch(() => undefined);
      await starving.tell({ type: 'recover' }).catch(() => undefined);
      await payer.tell({ type: 'release' });
      const outcome = await paid;
      expect(outcome).toMatchObject({ type: 'ToolExecutionResult' });
      await starving.tell({ type: 'feed' });
      const ledger = await openLedger(play.ledger);
      const runtime = createRuntime({ ledger, tools: [] });
      closing.push(() => ledger.close());
      const [call] = await runtime.calls.list({ sessionId: 's', callId: 'a' });
      expect(call?.settled?.outcome).toEqual(outcome);
      expect((await joined) ?? outcome).toEqual(outcome);
      expect(play.world.count('a')).toBe(1);
      await expectSettledOnce(runtime);
    },
  );
});

describe('[intent-first] a ledger whose files changed under a running process', () => {
  const pay = async (): Promise<{ ask: (callId: string) => Promise<ToolOutcome>; ran: string[] }> => {
    const ledger = await openLedger(play.ledger);
    const ran: string[] = [];
    const runtime = createRuntime({
      ledger,
      tools: [defineTool({ name: 'pay', mode: 'external', run: (_, { callId }) => ran.push(callId) })],
    });
    closing.push(
      () => runtime.close(),
      () => ledger.close(),
    );
    const turn = runtime.turn({ sessionId: 's' });
    return { ran, ask: (callId) => turn.call(envelope(callId, 'pay', { callId })) };
  };
  const changes: readonly (readonly [string, (path: string) => void, RegExp])[] = [
    ['was deleted', (path) => rmSync(path), /was moved or deleted/],
    ['was moved', (path) => renameSync(path, `${path}.away`), /was moved or deleted/],
    [
      'was replaced by a copy of itself',
      (path) => {
        copyFileSync(path, `${path}.copy`);
        renameSync(`${path}.copy`, path);
      },
      /was replaced/,
    ],
    [
      'was replaced by an empty file',
      (path) => {
        rmSync(path);
        writeFileSync(path, '');
      },
      /was replaced/,
    ],
    ['lost its log', (path) => rmSync(`${path}-wal`), /log of the ledger/],
    ['has an empty log', (path) => truncateSync(`${path}-wal`), /log of the ledger.*was cut/],
    [
      'has a log without its last byte',
      (path) => truncateSync(`${path}-wal`, statSync(`${path}-wal`).size - 1),
      /log of the ledger.*was cut/,
    ],
    ['lost its shared memory', (path) => rmSync(`${path}-shm`), /shared memory/],
    [
      'lost the lock file of this process',
      (path) => rmSync(`${path}.owners`, { recursive: true }),
      /lock file of this process/,
    ],
  ];

  it.each(changes)(
    '[intent-first] a ledger whose files changed under a running process that %s runs no effect',
    async (_, change, words) => {
      const { ask, ran } = await pay();
      expect(await ask('a')).toMatchObject({ output: 1 });
      change(play.ledger);
      for (const callId of ['b', 'c'])
        expect(await ask(callId)).toMatchObject({
          type: 'ToolFailure',
          code: 'ledger.unavailable',
          retryable: true,
          error: expect.stringMatching(words) as string,
        });
      expect(ran).toEqual(['a']);
    },
  );

  it('[nothing-lost] a ledger whose files changed under a running process that was moved back is used again', async () => {
    const { ask, ran } = await pay();
    await ask('a');
    renameSync(play.ledger, `${play.ledger}.away`);
    expect(await ask('b')).toMatchObject({ code: 'ledger.unavailable' });
    expect(existsSync(play.ledger)).toBe(false);
    renameSync(`${play.ledger}.away`, play.ledger);
    expect(await ask('b')).toMatchObject({ output: 2 });
    expect(ran).toEqual(['a', 'b']);
  });
});
