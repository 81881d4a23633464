/**
 * A denial received before an expiry that allows counts until the intent is stored. Holder and decider are two runtimes
 * with a handle each on one SQLite ledger, as in two processes: exactly one of denial and intent is stored.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Runtime, ToolMode, ToolOutcome } from 'quittance';
import type { PersonDecision } from 'quittance/runtime';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, ToolDecision } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { openLedger } from 'quittance/ledger';
import type { ManualClock } from 'quittance/testing';
import { createManualClock } from 'quittance/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { deferred, envelope, eventTypes, expectSettledOnce } from '../stage.ts';
import { question, refusal, yes } from './question.ts';

const rules = `
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: money }
defaults: { mode: enforce }
rules:
  - id: ask-first
    type: pre
    tool: pay
    when: { args.cents: { gt: 0 } }
    then: { action: ask, message: 'Pay?', timeout: 5, timeout_effect: allow }
`;
const expiresAt = 6_000;
const noInTime: PersonDecision = { decision: 'deny', by: 'ada', receivedAt: expiresAt - 1 };

let folder: string;
let clock: ManualClock;
let ledgers: OpenLedger[];
let runtimes: Runtime[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-late-'));
  clock = createManualClock(1_000);
  ledgers = [];
  runtimes = [];
});
afterEach(async () => {
  for (const runtime of runtimes) await runtime.close();
  for (const ledger of ledgers) await ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

const open = async (): Promise<OpenLedger> => {
  const ledger = await openLedger(join(folder, 'ledger.db'), { clock });
  ledgers.push(ledger);
  return ledger;
};

type Stage = {
  readonly holder: Runtime;
  readonly decider: Runtime;
  readonly asked: Promise<ToolOutcome>;
  readonly confirmationId: string;
  readonly ran: number[];
  /** Resolves once the expiry has allowed the call and its checks run again. */
  readonly checking: Promise<void>;
  /** Lets those checks end. */
  readonly check: PromiseWithResolvers<ToolDecision>;
  /** Resolves once the body has started. */
  readonly running: Promise<void>;
  readonly body: PromiseWithResolvers<void>;
};

async function hold(mode: ToolMode = 'safe_write'): Promise<Stage> {
  const ran: number[] = [];
  const [checking, running, body] = [deferred(), deferred(), deferred()];
  const check = deferred<ToolDecision>();
  let looks = 0;
  const tool = defineTool({
    name: 'pay',
    mode,
    async run() {
      ran.push(1);
      running.resolve();
      await body.promise;
      return 'paid';
    },
  });
  const contracts = contractsFromYamlString(rules);
  const holder = createRuntime({
    tools: [tool],
    ledger: await open(),
    contracts,
    clock,
    onPreToolUse() {
      if (++looks === 1) return ToolDecision.allow;
      checking.resolve();
      return check.promise;
    },
  });
  const decider = createRuntime({ tools: [], ledger: await open(), clock });
  runtimes.push(holder, decider);
  const asked = holder.turn({ sessionId: 's' }).call(envelope('c', 'pay', { cents: 5 }));
  const { confirmationId } = await question(decider);
  return {
    holder,
    decider,
    asked,
    confirmationId,
    ran,
    checking: checking.promise,
    check,
    running: running.promise,
    body,
  };
}

async function problems(): Promise<readonly string[]> {
  const [ledger] = ledgers;
  const found: string[] = [];
  if (ledger !== undefined)
    await verifyLedger(
      ledger,
      undefined,
      {
        signal: new AbortController().signal,
        startProgress: () => ({ step: () => undefined, done: () => undefined }),
      },
      ({ message }) => {
        found.push(message);
        return Promise.resolve();
      },
    );
  return found;
}

it('a denial in time is recorded without its time of receipt: only a late one needs that', async () => {
  const { holder, decider, asked, confirmationId } = await hold();
  clock.advance(1_000);
  await decider.confirmations.decide(confirmationId, { ...noInTime, receivedAt: 1_500 });
  expect(await asked).toMatchObject({ code: 'confirmation.rejected' });
  const events = await holder.events.list({ sessionId: 's', callId: 'c' });
  const decided = events.find((event) => event.type === 'confirmation.decided');
  expect(decided).toMatchObject({ decision: 'deny', at: 2_000 });
  expect(decided?.receivedAt).toBeUndefined();
});

describe.each(['safe_write', 'read'] as const)('a denial from another process, of a %s call', (mode) => {
  it('stops the call while its last checks run', async () => {
    const { holder, decider, asked, confirmationId, ran, checking, check } = await hold(mode);
    clock.advance(5_000);
    await checking;
    expect(await decider.confirmations.decide(confirmationId, noInTime)).toMatchObject({ status: 'denied' });
    check.resolve(ToolDecision.allow);
    expect(await asked).toMatchObject({ type: 'ToolDenied', code: 'confirmation.rejected' });
    expect(ran).toEqual([]);
    const events = await holder.events.list({ sessionId: 's', callId: 'c' });
    expect(events.find(({ type }) => type === 'confirmation.decided')).toMatchObject({
      decision: 'deny',
      receivedAt: expiresAt - 1,
    });
    expect(await decider.confirmations.list({ status: 'denied' })).toMatchObject({
      rows: [{ confirmationId }],
    });
    // The holder itself ends the call: it does not answer from a record like a repeat.
    expect((await eventTypes(holder, 'c')).slice(-3)).toEqual([
      'confirmation.expired',
      'confirmation.decided',
      'tool.responded',
    ]);
    await expectSettledOnce(holder);
    expect(await problems()).toEqual([]);
  });

  it('is refused once the body has started', async () => {
    const { holder, decider, asked, confirmationId, ran, check, running, body } = await hold(mode);
    check.resolve(ToolDecision.allow);
    clock.advance(5_000);
    await running;
    const { code } = await refusal(decider.confirmations.decide(confirmationId, noInTime));
    expect(code).toBe('confirmation.decided');
    body.resolve();
    expect(await asked).toMatchObject({ type: 'ToolExecutionResult', output: 'paid' });
    expect(ran).toEqual([1]);
    expect(await eventTypes(holder, 'c')).not.toContain('confirmation.decided');
    expect(await problems()).toEqual([]);
  });
});

it('counts even if the checks stop the call too: the person is named', async () => {
  const { holder, decider, asked, confirmationId, checking, check } = await hold();
  clock.advance(5_000);
  await checking;
  await decider.confirmations.decide(confirmationId, { ...noInTime, reason: 'not today' });
  check.resolve(ToolDecision.block('The hook says no.'));
  expect(await asked).toMatchObject({ type: 'ToolDenied', details: 'Denied by ada: not today' });
  await expectSettledOnce(holder);
});

it.each<[string, PersonDecision]>([
  ['a denial that was received too late', { ...noInTime, receivedAt: expiresAt }],
  ['a denial that does not say when it was received', { decision: 'deny', by: 'ada' }],
])('rejects %s', async (_, decision) => {
  const { decider, asked, confirmationId, ran, checking, check, body } = await hold();
  clock.advance(5_000);
  await checking;
  expect((await refusal(decider.confirmations.decide(confirmationId, decision))).code).toBe(
    'confirmation.decided',
  );
  check.resolve(ToolDecision.allow);
  body.resolve();
  expect(await asked).toMatchObject({ type: 'ToolExecutionResult' });
  expect(ran).toEqual([1]);
});

it('refuses an approval that was received in time: the expiry has decided', async () => {
  const { decider, asked, confirmationId, checking, check, body } = await hold();
  const shown = await question(decider);
  clock.advance(5_000);
  await checking;
  const late = decider.confirmations.decide(confirmationId, { ...yes(shown), receivedAt: expiresAt - 1 });
  expect((await refusal(late)).code).toBe('confirmation.decided');
  check.resolve(ToolDecision.allow);
  body.resolve();
  expect(await asked).toMatchObject({ type: 'ToolExecutionResult' });
});

it('does not override a person’s approval', async () => {
  const { decider, asked, confirmationId, checking, check, body } = await hold();
  const shown = await question(decider);
  await decider.confirmations.decide(confirmationId, yes(shown, 'eve'));
  await checking;
  expect((await refusal(decider.confirmations.decide(confirmationId, noInTime))).code).toBe(
    'confirmation.decided',
  );
  check.resolve(ToolDecision.allow);
  body.resolve();
  expect(await asked).toMatchObject({ type: 'ToolExecutionResult' });
});

it('stores exactly one of denial and intent, whichever comes first', async () => {
  const seen = new Set<string>();
  for (let round = 0; round < 12; round++) {
    const { decider, asked, confirmationId, ran, checking, check, body } = await hold();
    body.resolve();
    clock.advance(5_000);
    await checking;
    check.resolve(ToolDecision.allow);
    for (let turns = 0; turns < round; turns++) await Promise.resolve();
    const denial = { ...noInTime, receivedAt: clock.now() - 1 };
    const isDenied = await decider.confirmations.decide(confirmationId, denial).then(
      () => true,
      () => false,
    );
    const { type } = await asked;
    expect({ type, ran: ran.length }).toEqual(
      isDenied ? { type: 'ToolDenied', ran: 0 } : { type: 'ToolExecutionResult', ran: 1 },
    );
    seen.add(type);
    for (const runtime of runtimes.splice(0)) await runtime.close();
    for (const ledger of ledgers.splice(0)) await ledger.close();
    rmSync(folder, { recursive: true, force: true });
    folder = mkdtempSync(join(tmpdir(), 'quittance-late-'));
  }
  expect(seen.size).toBeGreaterThan(0);
});
