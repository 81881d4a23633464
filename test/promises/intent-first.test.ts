import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyTool, ToolSpec } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLedgerFile } from '../durable/ledger-file.ts';
import type { Play } from '../durable/play.ts';
import { openPlay } from '../durable/play.ts';
import { envelope } from '../stage.ts';
import { openBare } from '../bare-database.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-intent-'));
  path = join(folder, 'ledger.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The number of committed intents of a call, read by a separate connection. */
function countIntents(callId: string): number {
  const other = openBare(path, { readOnly: true });
  try {
    const texts = other.prepareValue<string>('SELECT text FROM entries WHERE call = ?').all(callId);
    return texts.filter((text) => text.includes('"tool.started"')).length;
  } finally {
    other.close();
  }
}

type Traits = Partial<ToolSpec<string, undefined, undefined, unknown>>;

const kinds: Readonly<Record<string, Traits>> = {
  'reaches outside': { mode: 'external' },
  'writes safely': { mode: 'safe_write' },
  'destroys, after a person agreed': { mode: 'destructive' },
  'may run again': { mode: 'external', idempotent: true },
  'reads and costs something': { mode: 'read', costMicros: 5 },
  'reads under a key of its own': { mode: 'read', idempotencyKey: () => 'k' },
};

describe('[intent-first] no body runs before its intent is durable', () => {
  it.each(Object.entries(kinds))(
    '[intent-first] another connection sees the intent of a tool that %s before the first line of its body',
    async (_, traits) => {
      const seen: number[] = [];
      const ledger = await openLedger(path);
      const runtime = createRuntime({
        ledger,
        tools: [
          defineTool({ ...traits, name: 'act', run: (__, { callId }) => seen.push(countIntents(callId)) }),
        ],
        budgets: [{ scope: 'session', costMicros: 1_000 }],
        onConfirm: () => ({ decision: 'approve', by: 'Ada' }),
      });
      const turn = runtime.turn({ sessionId: 's' });
      await Promise.all(['a', 'b', 'c'].map((id) => turn.call(envelope(id, 'act', { id }))));
      await turn.call(envelope('d', 'act', { id: 'd' }));
      expect(seen).toEqual(traits.idempotencyKey ? [1] : [1, 1, 1, 1]);
      await runtime.close();
      await ledger.close();
    },
  );

  it('[intent-first] a read without a limit needs none, and is stored with its outcome', async () => {
    const seen: number[] = [];
    const ledger = await openLedger(path);
    const get = defineTool({
      name: 'get',
      mode: 'read',
      run: (__, { callId }) => seen.push(countIntents(callId)),
    });
    const runtime = createRuntime({ ledger, tools: [get] });
    await runtime.turn({ sessionId: 's' }).call(envelope('a', 'get'));
    expect([seen, countIntents('a')]).toEqual([[0], 1]);
    await ledger.close();
  });

  it.each(['full', 'read-only'] as const)(
    '[intent-first] nothing runs while the disk is %s, and the same id may be used again',
    async (how) => {
      const ran: string[] = [];
      const act: AnyTool = defineTool({
        name: 'act',
        mode: 'external',
        run: (_, { callId }) => ran.push(callId),
      });
      const { ledger, fill, free, protect, release } = openLedgerFile(path);
      const runtime = createRuntime({ ledger, tools: [act] });
      const turn = runtime.turn({ sessionId: 's' });
      await turn.call(envelope('before', 'act'));
      // Too long for the space on the last page.
      const call = envelope('a', 'act', { note: 'x'.repeat(20_000) });
      if (how === 'full') fill();
      else protect();
      const refused = { type: 'ToolFailure', code: 'ledger.unavailable', retryable: true };
      expect(await turn.call(call)).toMatchObject(refused);
      expect(await turn.call(call)).toMatchObject(refused);
      expect([ran, countIntents('a'), await runtime.calls.list({ sessionId: 's', callId: 'a' })]).toEqual([
        ['before'],
        0,
        [],
      ]);
      if (how === 'full') free();
      else release();
      expect(await turn.call(call)).toMatchObject({ type: 'ToolExecutionResult' });
      expect(await turn.call(call)).toMatchObject({ type: 'ToolExecutionResult' });
      expect([ran, countIntents('a')]).toEqual([['before', 'a'], 1]);
      await runtime.close();
      await ledger.close();
    },
  );
});

describe('[intent-first] across processes', () => {
  let play: Play;
  beforeEach(async () => {
    play = await openPlay();
    path = play.ledger;
  });
  afterEach(() => play.end());

  it('[intent-first] a body that runs again after a crash has another intent', async () => {
    const first = await play.start({ afterwards: 'hang' });
    void first.call('a', 'put').catch(() => undefined);
    await first.reached;
    expect(countIntents('a')).toBe(1);
    await first.kill();
    const seen: number[] = [];
    const ledger = await openLedger(path);
    const put = defineTool({
      name: 'put',
      mode: 'external',
      idempotent: true,
      run: (_, { attempt, callId }) => seen.push(attempt, countIntents(callId)),
    });
    const runtime = createRuntime({ ledger, tools: [put] });
    expect(await runtime.recover()).toMatchObject([{ callId: 'a', how: 'rerun' }]);
    expect(seen).toEqual([2, 2]);
    await ledger.close();
  });
});
