/** Previews, undo and the end of processes: each ledger opened here is a separate owner, like a process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyTool, CancelledOperation, PreviewedOperation, Runtime } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkSideRows } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { SideFold } from '../../packages/quittance/src/ledger/side-fold.ts';
import { readEntry } from '../../packages/quittance/src/ledger/formats/v1/read-entry.ts';
import { deferred, envelope, eventsOf, eventTypes, expectSettledOnce, quiet } from '../stage.ts';
import { question, yes } from './question.ts';
import { readSealed } from '../../packages/quittance/src/ledger/reads.ts';

let folder: string;
const open: OpenLedger[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-previews-'));
});
afterEach(async () => {
  for (const ledger of open.splice(0)) await ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

type Process = { readonly runtime: Runtime; readonly ledger: OpenLedger; readonly die: () => Promise<void> };

const clock = createManualClock();

/** A process that may die at any moment: from then on it writes nothing. */
async function start(...tools: readonly AnyTool[]): Promise<Process> {
  const ledger = await openLedger(join(folder, 'ledger.db'), { clock });
  open.push(ledger);
  const runtime = createRuntime({ tools, ledger, clock, ownFiles: 'reachable' });
  const die = async (): Promise<void> => {
    open.splice(open.indexOf(ledger), 1);
    await ledger.close();
  };
  return { runtime, ledger, die };
}

/** The findings of `quittance verify` about side rows. */
async function problems(ledger: OpenLedger): Promise<readonly string[]> {
  const fold = new SideFold();
  const catchUp = async (): Promise<void> => {
    for (const entry of await ledger.readEntries({ after: fold.position, limit: 1_000 }))
      fold.add(readEntry(entry), entry.position);
  };
  const found: string[] = [];
  for await (const { message } of checkSideRows(ledger, fold, catchUp, new AbortController().signal))
    found.push(message);
  return found;
}

type Written = { readonly password: string; readonly approved: PreviewedOperation | undefined };

function writer(preview: NonNullable<AnyTool['preview']>) {
  const ran: Written[] = [];
  const cancelled: CancelledOperation[] = [];
  const tool = defineTool({
    name: 'write',
    mode: 'local',
    input: z.object({ password: z.string() }),
    redact: { snapshot: ['$.key'] },
    preview,
    cancel: (operation) => void cancelled.push(operation),
    run: ({ password }, { approved }) => ({ nth: ran.push({ password, approved }) }),
  }) as AnyTool;
  return { tool, ran, cancelled };
}

const call = envelope('c', 'write', { password: 'hunter22' });
const secret = () => ({ kind: 'text', text: 'with k-4711', snapshot: { key: 'k-4711' } }) as const;

describe('a preview', () => {
  it('is what another process runs the body with, as approved and without making it again', async () => {
    const first = await start(writer(secret).tool);
    void first.runtime
      .turn({ sessionId: 's' })
      .call(call)
      .catch(() => undefined);
    const asked = await question(first.runtime);
    expect(asked.preview).toMatchObject({
      preview: { text: 'with [REDACTED]' },
      snapshot: { key: '[REDACTED]' },
    });
    expect(await problems(first.ledger)).toEqual([]);
    await first.die();
    let made = 0;
    const { tool, ran, cancelled } = writer(() => (made++, secret()));
    const second = await start(tool);
    const rejoined = second.runtime.turn({ sessionId: 's' }).call(call);
    await second.runtime.confirmations.decide(asked.confirmationId, {
      decision: 'approve',
      by: 'ada',
      inputDigest: asked.inputDigest,
      revision: 1,
    });
    expect((await rejoined).type).toBe('ToolExecutionResult');
    expect(ran).toMatchObject([
      { password: 'hunter22', approved: { revision: 1, snapshot: { key: 'k-4711' } } },
    ]);
    expect([made, cancelled]).toEqual([0, []]);
    expect(await problems(second.ledger)).toEqual([]);
    expect(JSON.stringify(await second.runtime.events.list({ sessionId: 's' }))).not.toMatch(
      /k-4711|hunter22/,
    );
    await expectSettledOnce(second.runtime);
  });

  it('is sealed again with edited arguments, and not at all if they hide nothing', async () => {
    const shown = ({ note }: { readonly note: string }) =>
      ({ kind: 'text', text: note, snapshot: note === 'open' ? {} : { key: note } }) as const;
    const tool = defineTool({
      name: 'write',
      mode: 'local',
      input: z.object({ note: z.string(), password: z.string().optional() }),
      redact: { snapshot: ['$.key'] },
      preview: shown,
      run: (_, { approved }) => approved?.snapshot ?? null,
    }) as AnyTool;
    const { runtime, ledger } = await start(tool);
    const turn = runtime.turn({ sessionId: 's' });
    const outcome = turn.call(envelope('c', 'write', { note: 'k-4711', password: 'hunter22' }));
    for (const note of ['k-4712', 'open']) {
      const { confirmationId, inputDigest, preview } = await question(runtime);
      expect(await problems(ledger)).toEqual([]);
      expect(await readSealed(ledger, 's', 'c')).toBeDefined();
      const { revision = 0 } = preview ?? {};
      const edit = { decision: 'edit', by: 'ada', inputDigest, revision, arguments: { note } } as const;
      await runtime.confirmations.decide(confirmationId, edit);
    }
    const asked = await question(runtime);
    expect(await problems(ledger)).toEqual([]);
    expect(await readSealed(ledger, 's', 'c')).toBeUndefined();
    await runtime.confirmations.decide(asked.confirmationId, yes(asked));
    expect(await outcome).toMatchObject({ output: {} });
  });

  it('is not made again for a call that was cancelled while its tool released the previous one', async () => {
    let made = 0;
    const lettingGo = deferred();
    const gone = deferred();
    const tool = defineTool({
      name: 'write',
      mode: 'local',
      input: z.object({ password: z.string() }),
      preview: ({ password }) => ({ kind: 'text', text: password, snapshot: { nth: ++made } }),
      cancel: () => {
        lettingGo.resolve();
        return gone.promise;
      },
      run: () => null,
    }) as AnyTool;
    const { runtime } = await start(tool);
    const cancel = new AbortController();
    const outcome = runtime.turn({ sessionId: 's' }).call(call, { signal: cancel.signal });
    const { confirmationId, inputDigest } = await question(runtime);
    const edited = { arguments: { password: 'hunter23' }, revision: 1, inputDigest, by: 'ada' } as const;
    await runtime.confirmations.decide(confirmationId, { decision: 'edit', ...edited });
    await lettingGo.promise;
    cancel.abort();
    expect(await outcome).toMatchObject({ code: 'tool.cancelled' });
    gone.resolve();
    for (let round = 0; round < 5; round++) await quiet();
    expect(made).toBe(1);
    await expectSettledOnce(runtime);
  });

  it('a preview that changes with every edit is asked about once each time', async () => {
    const tool = defineTool({
      name: 'write',
      mode: 'local',
      input: z.object({ note: z.string() }),
      preview: ({ note }) => ({ kind: 'text', text: note, snapshot: { note } }),
      run: () => null,
    }) as AnyTool;
    const { runtime } = await start(tool);
    const outcome = runtime.turn({ sessionId: 's' }).call(envelope('c', 'write', { note: 'one' }));
    for (const note of ['two', 'three']) {
      const { confirmationId, inputDigest, preview } = await question(runtime);
      const { revision = 0 } = preview ?? {};
      const edit = { decision: 'edit', by: 'ada', inputDigest, revision, arguments: { note } } as const;
      await runtime.confirmations.decide(confirmationId, edit);
    }
    const asked = await question(runtime);
    const words = asked.asks.map(({ description }) => description);
    expect(words).toContain('What the tool would do has changed: see its preview.');
    expect(words).toEqual([...new Set(words)]);
    await runtime.confirmations.decide(asked.confirmationId, yes(asked));
    expect(await outcome).toMatchObject({ output: null });
  });

  it('a preview that expired while no process ran lets nothing run, and is released', async () => {
    const first = await start(writer(() => ({ ...secret(), expiresInMs: 1_000 })).tool);
    void first.runtime
      .turn({ sessionId: 's' })
      .call(call)
      .catch(() => undefined);
    await question(first.runtime);
    await first.die();
    clock.advance(1_000);
    const { tool, ran, cancelled } = writer(secret);
    const second = await start(tool);
    await second.runtime.recover();
    expect(await second.runtime.turn({ sessionId: 's' }).call(call)).toMatchObject({ reason: 'expired' });
    expect(ran).toEqual([]);
    expect(cancelled).toMatchObject([{ callId: 'c', snapshot: { key: 'k-4711' } }]);
    await expectSettledOnce(second.runtime);
  });

  it('interrupted by the end of its process ends its call, and is released', async () => {
    const first = await start(
      writer(async function* () {
        yield { kind: 'text', text: 'half', snapshot: { half: true } };
        await new Promise(() => undefined);
      }).tool,
    );
    void first.runtime
      .turn({ sessionId: 's' })
      .call(call)
      .catch(() => undefined);
    while (!(await eventTypes(first.runtime, 'c')).includes('tool.previewed')) await quiet();
    await first.die();
    const { tool, ran, cancelled } = writer(secret);
    const second = await start(tool);
    expect(await second.runtime.recover()).toMatchObject([{ callId: 'c', how: 'cancelled' }]);
    expect(ran).toEqual([]);
    expect(cancelled).toMatchObject([{ revision: 1, snapshot: { half: true } }]);
    await expectSettledOnce(second.runtime);
  });
});

function remover(undoIdempotent: boolean, undoing: (password: string) => unknown) {
  return defineTool({
    name: 'delete_it',
    input: z.object({ password: z.string() }),
    undoIdempotent,
    undoWithinMs: 60_000,
    run: () => 'gone',
    undo: ({ password }) => undoing(password),
  }) as AnyTool;
}
const remove = envelope('c', 'delete_it', { password: 'hunter22' });
const ref = { sessionId: 's', callId: 'c' };

describe('an undo', () => {
  it.each([
    [true, 'rerun', 1],
    [false, 'indeterminate', 0],
  ] as const)(
    'interrupted by the end of its process, idempotent: %s, is %s',
    async (idempotent, how, undone) => {
      const begun = deferred();
      const first = await start(remover(idempotent, () => (begun.resolve(), new Promise(() => undefined))));
      await first.runtime.turn({ sessionId: 's' }).call(remove);
      expect(await problems(first.ledger)).toEqual([]);
      void first.runtime.calls.undo(ref, { by: 'ada' }).catch(() => undefined);
      await begun.promise;
      await first.die();
      const passwords: string[] = [];
      const second = await start(remover(idempotent, (password) => passwords.push(password)));
      expect(await second.runtime.recover()).toMatchObject([{ callId: 'undo:c', how }]);
      expect(passwords).toEqual(Array(undone).fill('hunter22'));
      expect(await eventsOf(second.runtime, 'tool.undone')).toHaveLength(undone);
      await expect(second.runtime.calls.undo(ref, { by: 'bob' })).rejects.toMatchObject({
        code: 'undo.spent',
      });
      expect(await problems(second.ledger)).toEqual([]);
      await expectSettledOnce(second.runtime);
    },
  );

  it('keeps the sealed input until its time is up, and the cleanup drops it then', async () => {
    const { runtime, ledger } = await start(remover(true, () => 'back'));
    await runtime.turn({ sessionId: 's' }).call(remove);
    await ledger.rebuild();
    expect(await readSealed(ledger, 's', 'c')).toBeDefined();
    clock.advance(60_000);
    expect(await problems(ledger)).toEqual([]);
    await ledger.rebuild();
    expect(await readSealed(ledger, 's', 'c')).toBeUndefined();
    expect(await problems(ledger)).toEqual([]);
  });
});
