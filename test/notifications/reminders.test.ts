/** Reminders, escalation and quiet hours of the notifications file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import type { Runtime } from 'quittance';
import { createMemoryLedger, openLedger } from 'quittance/ledger';
import { contractsFromYamlString } from 'quittance/contracts';
import { readNotifications, readQuietHours, startNotifications } from '@quittance/server/notifications';
import { createManualClock } from 'quittance/testing';
import type { ManualClock } from 'quittance/testing';
import type { OpenLedger } from 'quittance/store';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import type { Receiver } from './receiver.ts';
import { openReceiver } from './receiver.ts';

const pay = defineTool({ name: 'pay', mode: 'destructive', run: () => ({ paid: true }) });
const hour = 3_600_000;
const berlin = `quietHours:
  - { from: '22:00', to: '07:00', timeZone: Europe/Berlin }
  - { from: '00:00', to: '00:00', timeZone: Europe/Berlin, days: [sat, sun] }`;
const quietHours = readQuietHours(
  `apiVersion: quittance/v1\nkind: Notifications\n${berlin}\ntargets: { a: { type: slack, url: '\${UNSET}' } }\nrules: []`,
  'n.yaml',
);

let ops: Receiver;
let boss: Receiver;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  [ops, boss] = [await openReceiver(), await openReceiver()];
});
afterAll(() => Promise.all([ops.close(), boss.close()]));
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  for (const receiver of [ops, boss]) (receiver.received as unknown[]).length = 0;
});

function runtimeOn(clock: ManualClock, ledger: OpenLedger, more: object = {}): Runtime {
  const runtime = createRuntime({ tools: [pay], ledger, clock, ...more });
  closing.push(() => runtime.close());
  return runtime;
}

function notify(runtime: Runtime, clock: ManualClock, yaml: string): void {
  const settings = readNotifications(
    `apiVersion: quittance/v1
kind: Notifications
targets:
  ops: { type: slack, url: '${ops.url}', allowPrivate: true }
  boss: { type: slack, url: '${boss.url}', allowPrivate: true }
${yaml}`,
    'n.yaml',
    () => undefined,
  );
  const notifications = startNotifications({ runtime, settings, clock });
  closing.push(() => notifications.close());
}

const hold = (runtime: Runtime, id = 'c'): void => {
  const turn = runtime.turn({ sessionId: 's' });
  void turn.call({ id, name: 'pay', arguments: { cents: 5 } }).catch(() => undefined);
};

type AskedQuestion = { confirmationId: string; inputDigest: string; expiresAt?: number };

async function question(runtime: Runtime): Promise<AskedQuestion> {
  return eventually(async () => {
    const [row] = (await runtime.confirmations.list({ status: 'pending' })).rows;
    if (row === undefined) throw new Error('no question yet');
    return row as AskedQuestion;
  });
}

const reminded = async (runtime: Runtime): Promise<readonly string[]> =>
  (await runtime.events.list({ sessionId: 's' })).flatMap((event) =>
    event.type === 'confirmation.reminded' ? [new Date(event.dueAt).toISOString()] : [],
  );

/** Moves the clock in steps, so that timers that were started meanwhile count. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (const end = clock.now() + ms; clock.now() < end;) {
    clock.advance(Math.min(end - clock.now(), 15_000));
    await new Promise(setImmediate);
  }
}

describe('quiet hours', () => {
  it('extend the expiry of a held call, which is stored once: every process and the next start see the same', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quittance-quiet-'));
    closing.push(() => rmSync(folder, { recursive: true, force: true }));
    // 21:00 in Berlin on a Thursday: an hour is left before the night.
    const clock = createManualClock(Date.parse('2026-01-15T20:00:00Z'));
    const path = join(folder, 'ledger.db');
    const open = async (options: object): Promise<Runtime> => {
      const ledger = await openLedger(path, { clock });
      closing.push(() => ledger.close());
      return runtimeOn(clock, ledger, options);
    };
    const first = await open({ quietHours, holdTimeoutMs: 2 * hour });
    hold(first);
    const asked = await question(first);
    expect(new Date(asked.expiresAt ?? 0).toISOString()).toBe('2026-01-16T07:00:00.000Z');
    for (const close of closing.splice(1).toReversed()) await close();
    // This one has no quiet hours and another limit. It reads what was decided.
    const second = await open({ holdTimeoutMs: 1_000 });
    expect((await question(second)).expiresAt).toBe(asked.expiresAt);
    const outcome = second.turn({ sessionId: 's' }).call({ id: 'c', name: 'pay', arguments: { cents: 5 } });
    clock.advance(11 * hour - 1_000);
    expect((await question(second)).confirmationId).toBe(asked.confirmationId);
    await eventually(async () => {
      clock.advance(1_000);
      expect((await second.confirmations.list({ status: 'pending' })).rows).toHaveLength(0);
    });
    expect(await outcome).toMatchObject({ type: 'ToolDenied', code: 'confirmation.expired' });
  });

  it('extend the time limit of a rule, over a weekend', async () => {
    const clock = createManualClock(Date.parse('2026-11-13T20:30:00Z')); // Friday 21:30 in Berlin
    const contracts = contractsFromYamlString(`apiVersion: quittance/v1
kind: Ruleset
metadata: { name: shop }
defaults: { mode: enforce }
rules:
  - { id: ask, type: pre, tool: pay, then: { action: ask, message: 'Pay?', timeout: 3600 } }`);
    const ledger = createMemoryLedger({ clock });
    const runtime = runtimeOn(clock, ledger, { quietHours, contracts, treatments: { local: 'run' } });
    hold(runtime);
    const { expiresAt = 0 } = await question(runtime);
    expect(new Date(expiresAt).toISOString()).toBe('2026-11-16T06:30:00.000Z');
  });

  it('quiet hours that cannot be understood are refused when the runtime is created', () => {
    const create = (hours: unknown) => () =>
      createRuntime({ tools: [pay], ledger: createMemoryLedger(), quietHours: hours as typeof quietHours });
    expect(create([{ from: '22:00', to: '07:00', timeZone: 'Nowhere' }])).toThrow('quietHours[0].timeZone');
    expect(create('night')).toThrow('quietHours must be a list');
  });

  it('are named by their line in the file', () => {
    expect(() =>
      readQuietHours(
        `apiVersion: quittance/v1
kind: Notifications
quietHours:
  - { from: '22:00', to: '7', timeZone: UTC }
`,
        'n.yaml',
      ),
    ).toThrow('n.yaml:4:3 quietHours: quietHours[0].to must be a time such as "22:00"');
  });
});

describe('reminders of the file', () => {
  const yaml = `reminders: [30m]
rules:
  - { on: [held, reminder], tell: [ops] }
  - { on: [reminder], after: 4h, when: { tool: pay }, tell: [boss] }`;

  it('are sent at their times, and further targets hear after a while', async () => {
    const clock = createManualClock(Date.parse('2026-01-15T10:00:00Z'));
    const runtime = runtimeOn(clock, createMemoryLedger({ clock }));
    notify(runtime, clock, yaml);
    hold(runtime);
    await ops.waitFor(1);
    await pass(clock, hour / 2);
    await ops.waitFor(2);
    expect(ops.received[1]?.body).toContain('Still waiting for approval: pay');
    expect(boss.received).toHaveLength(0);
    await pass(clock, 3.5 * hour);
    await Promise.all([ops.waitFor(3), boss.waitFor(1)]);
    expect(await reminded(runtime)).toEqual(['2026-01-15T10:30:00.000Z', '2026-01-15T14:00:00.000Z']);
  });

  it('are recorded once by two processes, and one after a long pause', async () => {
    const clock = createManualClock(Date.parse('2026-01-15T10:00:00Z'));
    const ledger = createMemoryLedger({ clock });
    const agent = runtimeOn(clock, ledger);
    hold(agent);
    await question(agent);
    // No process sends notifications for five hours.
    clock.advance(5 * hour);
    notify(runtimeOn(clock, ledger), clock, yaml);
    notify(runtimeOn(clock, ledger), clock, yaml);
    await Promise.all([ops.waitFor(1), boss.waitFor(1)]);
    expect(await reminded(agent)).toEqual(['2026-01-15T14:00:00.000Z']);
  });

  it('wait for the end of quiet hours, and stop with the decision', async () => {
    const clock = createManualClock(Date.parse('2026-01-15T20:45:00Z')); // 21:45 in Berlin
    const runtime = runtimeOn(clock, createMemoryLedger({ clock }), { quietHours });
    notify(runtime, clock, `${yaml}\n${berlin}`);
    hold(runtime);
    await ops.waitFor(1);
    await pass(clock, 10 * hour);
    await ops.waitFor(2);
    expect(await reminded(runtime)).toEqual(['2026-01-16T06:15:00.000Z']);
    const { confirmationId } = await question(runtime);
    await runtime.confirmations.decide(confirmationId, { decision: 'deny', by: 'eve' });
    await pass(clock, 8 * hour);
    expect(await reminded(runtime)).toHaveLength(1);
    expect(boss.received).toHaveLength(0);
  });

  it('reminders of the file of rules, and their escalations, wait for the end of quiet hours too, and an approval still counts', async () => {
    const clock = createManualClock(Date.parse('2026-01-15T20:30:00Z')); // 21:30 in Berlin
    const contracts = contractsFromYamlString(`apiVersion: quittance/v1
kind: Ruleset
metadata: { name: shop }
defaults: { mode: enforce }
rules:
  - id: ask
    type: pre
    tool: pay
    then:
      action: ask
      message: 'Pay?'
      timeout: 21600
      approval:
        groups: [finance]
        escalate: [{ after: 10800, people: [boss] }]
        reminders: [600, 3600, 7200]`);
    const ledger = createMemoryLedger({ clock });
    const runtime = runtimeOn(clock, ledger, { quietHours, contracts, treatments: { local: 'run' } });
    const told = runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'pay', arguments: { cents: 5 } });
    const { confirmationId, inputDigest, expiresAt = 0 } = await question(runtime);
    expect(new Date(expiresAt).toISOString()).toBe('2026-01-16T11:30:00.000Z');
    const boss = {
      kind: 'provider',
      method: 'oidc',
      subject: 'boss',
      issuer: 'https://id.example.com',
      name: 'boss',
    } as const;
    const approve = async (): Promise<unknown> =>
      runtime.confirmations.decide(confirmationId, {
        decision: 'approve',
        by: 'boss',
        identity: boss,
        inputDigest,
      });
    // Without the night, three hours have passed. The further approver is not asked yet.
    await pass(clock, 3.5 * hour);
    await expect(approve()).rejects.toMatchObject({ code: 'confirmation.forbidden' });
    expect(await reminded(runtime)).toEqual(['2026-01-15T20:40:00.000Z']);
    await pass(clock, 9 * hour);
    expect(await reminded(runtime)).toEqual([
      '2026-01-15T20:40:00.000Z',
      '2026-01-16T06:30:00.000Z',
      '2026-01-16T07:30:00.000Z',
      '2026-01-16T08:30:00.000Z',
    ]);
    await approve();
    expect((await told).type).toBe('ToolExecutionResult');
  });

  it('cover the reminders of rules if the process that asked is gone', async () => {
    const clock = createManualClock(Date.parse('2026-01-15T10:00:00Z'));
    const ledger = createMemoryLedger({ clock });
    const contracts = contractsFromYamlString(`apiVersion: quittance/v1
kind: Ruleset
metadata: { name: shop }
defaults: { mode: enforce }
rules:
  - id: ask
    type: pre
    tool: pay
    then: { action: ask, message: 'Pay?', timeout: 86400, approval: { quorum: 2, reminders: [600] } }`);
    const agent = runtimeOn(clock, ledger, { contracts });
    hold(agent);
    await question(agent);
    await agent.close();
    const server = runtimeOn(clock, ledger);
    notify(server, clock, 'reminders: [1h]\nrules:\n  - { on: [reminder], tell: [ops] }');
    await pass(clock, 11 * 60_000);
    await ops.waitFor(1);
    expect(ops.received[0]?.body).toContain('Still missing: 2 of any approver');
    expect(await reminded(server)).toEqual(['2026-01-15T10:10:00.000Z']);
  });
});

it('a chat message that is repeated says so', async () => {
  const clock = createManualClock();
  const runtime = runtimeOn(clock, createMemoryLedger({ clock }));
  ops.answerWith(503);
  notify(runtime, clock, 'rules:\n  - { on: [held], tell: [ops] }');
  hold(runtime);
  const [first, second] = await ops.waitFor(2);
  expect(first?.headers['quittance-delivery']).toBe('1');
  expect(first?.body).not.toContain('may have arrived before');
  expect(second?.headers['quittance-delivery']).toBe('2');
  expect(second?.body).toContain('Delivery: 2. This message may have arrived before.');
});
