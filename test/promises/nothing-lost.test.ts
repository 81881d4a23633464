import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyTool, Runtime, ToolOutcome } from 'quittance';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { World } from '../../bench/crash/world.ts';
import type { LedgerFile } from '../durable/ledger-file.ts';
import { openLedgerFile } from '../durable/ledger-file.ts';
import type { Play } from '../durable/play.ts';
import { openPlay } from '../durable/play.ts';
import { auditKinds, envelope, eventsOf, expectSettledOnce } from '../stage.ts';
import { findCalls } from '../../packages/quittance/src/ledger/reads.ts';

let folder: string;
let path: string;
const closing: (() => Promise<void>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-lost-'));
  path = join(folder, 'ledger.db');
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  rmSync(folder, { recursive: true, force: true });
});

/** Longer than the rest of any page. */
const long = 'x'.repeat(10_000);
const storedSeparately = expect.stringContaining('stored separately') as string;
const codeOf = (outcome: ToolOutcome): string => ('code' in outcome ? outcome.code : outcome.type);

type Trouble = 'a full disk' | 'a read-only ledger';
const troubles: Readonly<Record<Trouble, readonly ['fill' | 'protect', 'free' | 'release']>> = {
  'a full disk': ['fill', 'free'],
  'a read-only ledger': ['protect', 'release'],
};

type Stage = { runtime: Runtime; file: LedgerFile; ran: string[]; trouble: () => void; end: () => void };

/** A runtime whose ledger stores nothing more once a body of `act` has run. */
function setStage(kind: Trouble, spillBytes?: number): Stage {
  const file = openLedgerFile(path, spillBytes);
  const [begin, stop] = troubles[kind];
  const ran: string[] = [];
  const tool = (name: string, traits: object): AnyTool =>
    defineTool({
      name,
      mode: 'external',
      ...traits,
      run: async (_, { callId }) => {
        ran.push(callId);
        await Promise.resolve();
        if (name !== 'note') file[begin]();
        return { did: callId, long: name === 'note' ? '' : long };
      },
    });
  const tools = [tool('act', {}), tool('get', { mode: 'read' }), tool('note', {})];
  const runtime = createRuntime({
    ledger: file.ledger,
    tools,
    budgets: [{ scope: 'session', toolCalls: 100 }],
  });
  closing.push(async () => {
    await runtime.close();
    await file.ledger.close();
  });
  return { runtime, file, ran, trouble: () => file[begin](), end: () => file[stop]() };
}

/** The spill files that are not empty. */
const spills = (): string[] =>
  readdirSync(`${path}.spill`).filter((name) =>
    /\S/.test(readFileSync(join(`${path}.spill`, name), 'utf8').replaceAll('\0', '')),
  );

describe.each(Object.keys(troubles) as Trouble[])('[nothing-lost] %s', (kind) => {
  it.each(['act', 'get'])(
    '[nothing-lost] the true outcome of a body that ran is returned, with a note, and written once possible: %s',
    async (name) => {
      const { runtime, ran, end } = setStage(kind);
      const turn = runtime.turn({ sessionId: 's' });
      await turn.call(envelope('before', 'note'));
      const told = await turn.call(envelope('a', name));
      expect(told).toMatchObject({
        type: 'ToolExecutionResult',
        output: { did: 'a', long },
        modelNote: storedSeparately,
      });
      expect(await eventsOf(runtime, 'persistence.failed')).toEqual([]);
      expect(spills()).toHaveLength(1);
      end();
      await turn.call(envelope('after', 'note'));
      expect(await auditKinds(runtime, 'a')).toEqual(['persistence_failed', 'completed']);
      const [failed, completed] = await runtime.calls.audit({ sessionId: 's', callId: 'a' });
      // The record of the failed write carries the result that could not be stored.
      const stored = completed?.outcome.kind === 'completed' ? completed.outcome.result : undefined;
      expect(stored).toBeDefined();
      expect(failed?.outcome).toMatchObject({
        kind: 'persistence_failed',
        boundary: 'settle',
        result: stored,
      });
      expect(await eventsOf(runtime, 'persistence.failed')).toMatchObject([
        { callId: 'a', boundary: 'settle', keptIn: 'spill' },
      ]);
      expect(JSON.stringify(await turn.call(envelope('a', name)))).toBe(JSON.stringify(told));
      expect([ran, spills()]).toEqual([['before', 'a', 'after'], []]);
      await expectSettledOnce(runtime);
    },
  );

  it('[nothing-lost] a repeat meanwhile gets the true outcome, and nothing else starts', async () => {
    const { runtime, ran, end } = setStage(kind);
    const turn = runtime.turn({ sessionId: 's' });
    await turn.call(envelope('before', 'note'));
    const told = await turn.call(envelope('a', 'act'));
    expect(await turn.call(envelope('a', 'act'))).toEqual(told);
    expect(codeOf(await turn.call(envelope('b', 'note')))).toBe('ledger.unavailable');
    expect(ran).toEqual(['before', 'a']);
    end();
    expect(await turn.call(envelope('a', 'act'))).toEqual(told);
    expect(codeOf(await turn.call(envelope('b', 'note')))).toBe('ToolExecutionResult');
    await expectSettledOnce(runtime);
  });

  it('[nothing-lost] recover writes it too', async () => {
    const { runtime, ran, end } = setStage(kind);
    const told = await runtime.turn({ sessionId: 's' }).call(envelope('a', 'act'));
    await expect(runtime.recover()).rejects.toThrow(/full|is read-only/);
    expect(spills()).toHaveLength(1);
    end();
    await runtime.recover();
    expect(spills()).toEqual([]);
    const [call] = await runtime.calls.list({ sessionId: 's' });
    expect([call?.settled?.outcome, ran]).toEqual([told, ['a']]);
  });

  it('[nothing-lost] if the spill file is full the outcome says that the effect is unknown, and no more bodies run', async () => {
    const { runtime, file, ran, end } = setStage(kind, 24_000);
    const turn = runtime.turn({ sessionId: 's' });
    const ids = ['a', 'b', 'c'];
    const told = await Promise.all(ids.map((id) => turn.call(envelope(id, 'act', { id }))));
    const kept = told.filter(({ type }) => type === 'ToolExecutionResult');
    const lost = told.filter((outcome) => codeOf(outcome) === 'tool.indeterminate');
    expect([ran, kept.length + lost.length]).toEqual([ids, 3]);
    expect(kept.length).toBeGreaterThan(0);
    expect(lost.length).toBeGreaterThan(0);
    expect(codeOf(await turn.call(envelope('d', 'note')))).toBe('ledger.unavailable');
    for (const outcome of told)
      expect(await turn.call(envelope(outcome.callId, 'act', { id: outcome.callId }))).toEqual(outcome);
    expect(ran).toEqual(ids);
    end();
    expect(codeOf(await turn.call(envelope('d', 'note')))).toBe('ToolExecutionResult');
    for (const outcome of told)
      expect(await turn.call(envelope(outcome.callId, 'act', { id: outcome.callId }))).toEqual(outcome);
    // The results of the bodies are stored with their ends, so that nothing is left to find out.
    const late = await eventsOf(runtime, 'tool.late');
    expect(late.map(({ callId }) => callId).toSorted()).toEqual(lost.map(({ callId }) => callId).toSorted());
    expect((await findCalls(file.ledger, { unresolved: true })).rows).toEqual([]);
    expect(ran).toEqual([...ids, 'd']);
    await expectSettledOnce(runtime);
  });
});

describe('[nothing-lost] without room in a spill file', () => {
  it('[nothing-lost] no intent is written and nothing runs', async () => {
    writeFileSync(`${path}.spill`, 'somebody put a file here');
    const { runtime, ran } = setStage('a full disk');
    const turn = runtime.turn({ sessionId: 's' });
    expect(codeOf(await turn.call(envelope('a', 'note')))).toBe('ledger.unavailable');
    expect(ran).toEqual([]);
    rmSync(`${path}.spill`);
    expect(codeOf(await turn.call(envelope('a', 'note')))).toBe('ToolExecutionResult');
  });
});

describe('[nothing-lost] a process spills and is killed', () => {
  let play: Play;
  beforeEach(async () => {
    play = await openPlay();
    path = play.ledger;
  });
  afterEach(() => play.end());

  /** The files that dead processes have left. Every test gets its own copy. */
  const left = new Map<string, { readonly scene: Play; readonly told: ToolOutcome }>();
  let world: World;
  afterAll(() => {
    for (const { scene } of left.values()) scene.end();
  });

  /** A process that returned an outcome it could not write, and died. */
  async function spillAndDie(tool = 'put'): Promise<ToolOutcome> {
    const known = left.get(tool);
    const scene = known?.scene ?? (await openPlay());
    world = scene.world;
    const told = known?.told ?? (await spillThere(scene, tool));
    left.set(tool, { scene, told });
    cpSync(scene.folder, play.folder, { recursive: true, filter: (name) => !name.endsWith('-shm') });
    return told;
  }

  async function spillThere(scene: Play, tool: string): Promise<ToolOutcome> {
    const actor = await scene.start({ afterwards: 'fill' });
    const told = await actor.call('a', tool);
    await actor.kill();
    return told;
  }

  function comeAfter(): Pick<Stage, 'runtime' | 'file' | 'ran'> {
    const file = openLedgerFile(path);
    const ran: string[] = [];
    const put = defineTool({
      name: 'put',
      mode: 'external',
      idempotent: true,
      run: (_, { callId }) => ran.push(callId),
    });
    const pay = defineTool({ name: 'pay', mode: 'external', run: (_, { callId }) => ran.push(callId) });
    const runtime = createRuntime({ ledger: file.ledger, tools: [put, pay] });
    closing.push(async () => {
      await runtime.close();
      await file.ledger.close();
    });
    return { runtime, file, ran };
  }

  it.each(['recover', 'the same id', 'another id'])(
    '[nothing-lost] another one writes it before anything else is decided about the call: by %s',
    async (how) => {
      const told = await spillAndDie('pay');
      expect(told).toMatchObject({ type: 'ToolExecutionResult', modelNote: storedSeparately });
      const { runtime, file, ran } = comeAfter();
      const turn = runtime.turn({ sessionId: 's' });
      if (how === 'recover') await runtime.recover();
      if (how === 'another id') await turn.call(envelope('b', 'pay'));
      expect(JSON.stringify(await turn.call(envelope('a', 'pay')))).toBe(JSON.stringify(told));
      expect(await auditKinds(runtime, 'a')).toEqual(['persistence_failed', 'completed', 'cached']);
      expect((await findCalls(file.ledger, { unresolved: true })).rows).toEqual([]);
      expect([ran, world.count('a'), spills()]).toEqual([how === 'another id' ? ['b'] : [], 1, []]);
      await expectSettledOnce(runtime);
    },
  );

  it('[nothing-lost] a spilled entry is dropped only once it is written', async () => {
    const told = await spillAndDie();
    const { runtime, file, ran } = comeAfter();
    file.protect();
    await expect(runtime.recover()).rejects.toThrow(/full|is read-only/);
    expect(spills()).toHaveLength(1);
    file.release();
    await runtime.recover();
    expect([ran, spills()]).toEqual([[], []]);
    expect(await runtime.turn({ sessionId: 's' }).call(envelope('a', 'put'))).toEqual(told);
  });

  it('[nothing-lost] two later processes write it once', async () => {
    const told = await spillAndDie();
    const both = [comeAfter(), comeAfter()];
    await Promise.all(both.map(({ runtime }) => runtime.recover()));
    for (const { runtime, ran } of both) {
      expect(await runtime.turn({ sessionId: 's' }).call(envelope('a', 'put'))).toEqual(told);
      expect(ran).toEqual([]);
      expect(await eventsOf(runtime, 'persistence.failed')).toHaveLength(1);
      await expectSettledOnce(runtime);
    }
  });

  it('[nothing-lost] a torn line does not count, and its call is not taken as done', async () => {
    await spillAndDie('pay');
    const [name = ''] = spills();
    const spill = join(`${path}.spill`, name);
    truncateSync(spill, readFileSync(spill, 'utf8').indexOf('\n') - 5);
    const { runtime, ran } = comeAfter();
    expect(await runtime.recover()).toMatchObject([{ callId: 'a', how: 'indeterminate' }]);
    expect(ran).toEqual([]);
  });

  it('[nothing-lost] dead processes leave no files behind once their calls are ended', async () => {
    await spillAndDie();
    const { runtime } = comeAfter();
    await runtime.recover();
    const other = await openLedger(path);
    const owners = ['spill', 'owners'].map((kind) =>
      readdirSync(`${path}.${kind}`).filter((name) => /^own_\w+$/.test(name)),
    );
    expect(owners.map((names) => names.length)).toEqual([2, 2]);
    await other.close();
  });
});
