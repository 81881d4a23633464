/** Effects of people, previews, rules on results and the clock on calls: recorded, played, and equal. */
import type { AnyTool, Runtime, ToolCallInput } from 'quittance';
import type { ConfirmationAnswer, OnConfirm } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, jsonSchema } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { contractsFromYamlString } from 'quittance/contracts';
import type { ManualClock, SessionDiff } from 'quittance/testing';
import {
  createManualClock,
  diffSessions,
  readCassette,
  recordCassette,
  recordedTools,
  writeCassette,
} from 'quittance/testing';
import { describe, expect, test } from 'vitest';
import { quiet } from './stage.ts';
import { findCalls } from '../packages/quittance/src/ledger/reads.ts';

const rules = `
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: replay }
defaults: { mode: enforce }
rules:
  - id: keep-back
    type: post
    tool: read_file
    when: { output.text: { contains: TOP SECRET } }
    then: { action: block, message: 'Nobody sees {args.path}.' }
  - id: take-out
    type: post
    tool: read_file
    when: { output.text: { matches: 'KEY-[0-9]+' } }
    then: { action: redact, message: Keys stay here. }
  - id: mind
    type: post
    tool: read_file
    when: { output.text: { contains: sorry } }
    then: { action: warn, message: It apologises. }
  - id: watch
    type: post
    tool: read_file
    mode: observe
    when: { output.text: { matches: 'KEY-[0-9]+' } }
    then: { action: block, message: Would be kept back. }
  - id: wait-then-run
    type: pre
    tool: ping
    when: { args.host: { contains: slow } }
    then: { action: ask, message: 'Ping {args.host}?', timeout: 30, timeout_effect: allow }
`;

const path = jsonSchema<{ path: string }>({
  type: 'object',
  properties: { path: { type: 'string' }, mode: { type: 'integer' } },
  required: ['path'],
});

type World = { readonly tools: readonly AnyTool[]; readonly touched: string[] };

function makeWorld(): World {
  const touched: string[] = [];
  const touch = (what: string): void => void touched.push(what);
  const files: { readonly [name: string]: string } = {
    plain: 'text',
    secret: 'TOP SECRET KEY-1',
    key: 'sorry, KEY-123 and KEY-4',
  };
  const tools = [
    defineTool({
      name: 'read_file',
      mode: 'read',
      input: path,
      run: ({ path: name }) => {
        touch('read_file');
        if (name === 'broken') throw new Error('KEY-77 does not open it');
        if (name === 'refused') return { error: 'TOP SECRET KEY-5' };
        return { text: files[name] ?? '' };
      },
    }),
    defineTool({
      name: 'write_secret',
      mode: 'external',
      rerun: 'allow',
      input: path,
      run: ({ path: name }) => {
        touch('write_secret');
        return { wrote: name };
      },
    }),
    defineTool({
      name: 'delete_file',
      mode: 'destructive',
      input: path,
      run: (args) => {
        touch('delete_file');
        return { gone: args.path };
      },
    }),
    defineTool({
      name: 'ping',
      mode: 'external',
      run: (args) => {
        touch('ping');
        return { pong: args };
      },
    }),
    defineTool({
      name: 'move_file',
      mode: 'destructive',
      input: path,
      preview: async function* ({ path: name }) {
        touch('preview');
        yield { kind: 'text', text: `looking at ${name}` };
        if (name === 'unseen') throw new Error('it is dark');
        yield { kind: 'diff', path: name, diff: `-${touched.length}`, snapshot: { was: touched.length } };
      },
      cancel: () => touch('cancel'),
      run: (_args, { approved }) => {
        touch('move_file');
        return { moved: approved?.snapshot ?? null };
      },
      undoWithinMs: 60_000,
      undo: (_args, output) => {
        touch('undo');
        return { back: output };
      },
    }),
    defineTool({
      name: 'login',
      mode: 'destructive',
      run: (args) => {
        touch('login');
        return { as: args['user'] ?? null };
      },
    }),
    defineTool({ name: 'elsewhere', mode: 'external', handoff: true }),
  ] as const;
  return { tools, touched };
}

const call = (id: string, name: string, args: object = {}): ToolCallInput => ({
  id,
  name,
  arguments: { ...args },
});

/** The recorded decisions, by question. */
const people: OnConfirm = ({ toolName, arguments: args }) => {
  const never = new Promise<ConfirmationAnswer>(() => {});
  const about = [args['path'], args['user']].find((value) => typeof value === 'string') ?? '';
  switch (about) {
    case 'a':
      return { decision: 'approve', by: 'ada', reason: 'fine' };
    case 'b':
      return { decision: 'deny', by: 'bob', reason: 'not this one' };
    case 'c':
      return { decision: 'edit', by: 'cyd', reason: 'that one', arguments: { path: 'c-edited' } };
    case 'd':
      return { decision: 'respond', by: 'dan', response: 'It is gone already.' };
    case 'e':
      throw new Error('the line is dead');
    case 'eve':
      return { decision: 'edit', by: 'ada', arguments: { ...args, user: 'adam' } };
    case 'adam':
      return { decision: 'approve', by: 'ada' };
    default:
      return toolName === 'move_file' ? { decision: 'approve', by: 'mo' } : never;
  }
};

/** The program that is recorded and played. It cannot tell which. */
async function drive(runtime: Runtime, clock: ManualClock, first = 'plain'): Promise<void> {
  const sessionId = 's';
  const turn = runtime.turn({ sessionId });
  for (const name of [first, 'key', 'secret', 'broken', 'refused'])
    await turn.call(call(`read-${name === first ? 'first' : name}`, 'read_file', { path: name }));
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    await turn.call(call(`delete-${name}`, 'delete_file', { path: name, mode: '3' }));
  await turn.call(call('login', 'login', { user: 'eve', password: 'hunter2hunter2' }));

  // No person answers before the expiry.
  const waiting = turn.call(call('expires', 'delete_file', { path: 'nobody' }));
  await quiet();
  clock.advance(60_000);
  await waiting;
  const allowed = turn.call(call('runs-unanswered', 'ping', { host: 'slow' }));
  await quiet();
  clock.advance(30_000);
  await allowed;

  // The caller gives up first.
  const stop = new AbortController();
  const given = turn.call(call('cancelled', 'delete_file', { path: 'given up' }), { signal: stop.signal });
  await quiet();
  stop.abort();
  await given;
  const other = runtime.turn({ sessionId });
  const left = other.call(call('withdrawn', 'delete_file', { path: 'left' }));
  await quiet();
  await other.end({ withdraw: true });
  await left;

  const last = runtime.turn({ sessionId });
  await last.call(call('move', 'move_file', { path: 'm' }));
  await last.call(call('move-unseen', 'move_file', { path: 'unseen' }));
  await last.call(call('move', 'move_file', { path: 'm' }));
  await last.call(call('move', 'move_file', { path: 'n' }));
  await runtime.calls.undo({ sessionId, callId: 'move' }, { by: 'ada', reason: 'on second thoughts' });
  await last.end();
}

const circumstances = (clock: ManualClock) =>
  ({
    clock,
    holdTimeoutMs: 60_000,
    treatments: { destructive: 'ask' },
    contracts: contractsFromYamlString(rules),
  }) as const;

async function record(): Promise<{ ledger: OpenLedger; world: World; text: string }> {
  const clock = createManualClock();
  const ledger = createMemoryLedger({ clock });
  const world = makeWorld();
  const runtime = createRuntime({ ...circumstances(clock), tools: world.tools, ledger, onConfirm: people });
  await drive(runtime, clock);
  return { ledger, world, text: writeCassette(await recordCassette(ledger, { sessionId: 's' })) };
}

async function replay(
  text: string,
  options: { readonly mode: 'strict' | 'loose'; readonly first?: string },
): Promise<{ ledger: OpenLedger; world: World; recorded: ReturnType<typeof recordedTools> }> {
  const clock = createManualClock(1_900_000_000_000);
  const ledger = createMemoryLedger({ clock });
  const world = makeWorld();
  const recorded = recordedTools(readCassette(text), world.tools, { mode: options.mode, clock });
  const { tools, onConfirm } = recorded;
  const runtime = createRuntime({ ...circumstances(clock), tools, ledger, onConfirm });
  await drive(runtime, clock, options.first);
  return { ledger, world, recorded };
}

const diffOf = async (a: OpenLedger, b: OpenLedger): Promise<SessionDiff> =>
  diffSessions(await a.readSession('s'), await b.readSession('s'));

const changed = (diff: SessionDiff): readonly unknown[] =>
  diff.calls
    .filter(({ status }) => status !== 'same')
    .map((each) => [
      'a' in each ? each.a.callId : each.b.callId,
      'differences' in each ? each.differences : each.status,
    ]);

describe('a replay of unchanged code', () => {
  test.each(['strict', 'loose'] as const)(
    'differs in nothing that people, rules, previews and the clock did, played %s',
    async (mode) => {
      const recording = await record();
      const played = await replay(recording.text, { mode });
      expect(changed(await diffOf(recording.ledger, played.ledger))).toEqual([]);
      expect((await diffOf(recording.ledger, played.ledger)).identical).toBe(true);
      expect(played.world.touched).toEqual([]);
      played.recorded.assertConsumed();
      expect(recording.text).not.toMatch(/hunter2|KEY-\d/);
    },
  );

  test.each(['strict', 'loose'] as const)(
    'a replay of unchanged code with one changed byte in one argument differs in that call alone, played %s',
    async (mode) => {
      const recording = await record();
      const played = await replay(recording.text, { mode, first: 'plaim' });
      const diff = await diffOf(recording.ledger, played.ledger);
      expect(changed(diff).map((each) => (each as readonly unknown[])[0])).toEqual(['read-first']);
      expect(played.world.touched).toEqual([]);
    },
  );

  test('covers what people, rules on results and previews cause, and their audit kinds', async () => {
    const { ledger } = await record();
    const { rows } = await findCalls(ledger, { sessionId: 's', limit: 1_000 });
    expect([...new Set(rows.map(({ code }) => code ?? ''))].toSorted()).toEqual([
      '',
      'confirmation.answered',
      'confirmation.expired',
      'confirmation.rejected',
      'policy.output',
      'preview.failed',
      'tool.cancelled',
      'tool.execution_error',
      'turn.ended',
    ]);
    const runtime = createRuntime({ tools: [], ledger });
    const kinds = (await runtime.calls.audit({ sessionId: 's' })).map(({ outcome }) => outcome.kind);
    expect([...new Set(kinds)].toSorted()).toEqual([
      'blocked',
      'cached',
      'completed',
      'invalidated',
      'requires_confirmation',
    ]);
    const decisions = (await runtime.events.list({ sessionId: 's' })).flatMap((event) =>
      event.type === 'confirmation.decided'
        ? [event.decision]
        : event.type === 'confirmation.expired' || event.type === 'confirmation.withdrawn'
          ? [event.type]
          : [],
    );
    expect([...new Set(decisions)].toSorted()).toEqual([
      'approve',
      'confirmation.expired',
      'confirmation.withdrawn',
      'deny',
      'edit',
      'respond',
    ]);
  });
});
