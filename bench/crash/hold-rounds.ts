/**
 * Rounds about people: one process holds calls, another decides them, one or both are killed, and a third follows. A
 * stored decision must not be lost, requested again or applied twice, and nothing may run without approval.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { HoldErrand, HoldPoint } from './points.ts';
import type { Ledgers } from './ledgers.ts';
import type { World } from './world.ts';

export type HoldTally = {
  rounds: number;
  calls: number;
  ran: number;
  denied: number;
  duplicated: number;
  unapproved: number;
  askedTwice: number;
  decidedTwice: number;
  lost: number;
  indeterminate: number;
  cancelled: number;
};

export const emptyHoldTally = (): HoldTally => ({
  rounds: 0,
  calls: 0,
  ran: 0,
  denied: 0,
  duplicated: 0,
  unapproved: 0,
  askedTwice: 0,
  decidedTwice: 0,
  lost: 0,
  indeterminate: 0,
  cancelled: 0,
});

type Told = {
  readonly outcomes: Readonly<Record<string, { readonly type: string; readonly code?: string }>>;
  readonly questions: Readonly<Record<string, number>>;
  readonly decisions: Readonly<Record<string, number>>;
};

function begin(errand: HoldErrand): {
  child: ChildProcess;
  over: Promise<void>;
  told: () => Told | undefined;
} {
  const child = fork(join(import.meta.dirname, 'hold-child.ts'), [JSON.stringify(errand)], {
    execArgv: ['--conditions=quittance-source'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let told: Told | undefined;
  child.on('message', (message) => {
    if (typeof message === 'object' && message !== null) told = message as Told;
  });
  const over = once(child, 'exit').then(([code, signal]) => {
    if (signal !== 'SIGKILL' && code !== 0)
      throw new Error(`The child ended with code ${String(code)}: ${JSON.stringify(errand)}`);
  });
  return { child, over, told: () => told };
}

export async function playHoldRound(
  world: World,
  ledgers: Ledgers,
  { point, calls, serial }: { readonly point: HoldPoint; readonly calls: number; readonly serial: number },
  into: HoldTally,
): Promise<void> {
  const sessionId = `h${serial}`;
  const common = { sessionId, calls, service: world.url, ledger: ledgers.create(`hold-${serial}`) };
  // Only approved calls reach a claim.
  const candidates = point.endsWith('claim') ? Math.ceil(calls / 2) : calls;
  const fate = { point, nth: Math.floor(Math.random() * candidates) };
  const holder = begin({ ...common, part: 'holder', ...fate });
  await Promise.race([once(holder.child, 'message'), holder.over]);
  const decider = begin({ ...common, part: 'decider', ...fate });
  await decider.over;
  if (point.startsWith('decider')) {
    // The holder lives: another decider decides the remaining confirmations.
    await begin({ ...common, part: 'decider', point: undefined, nth: 0 }).over;
  }
  if (point === 'both: after decision') holder.child.kill('SIGKILL');
  await holder.over;
  const after = begin({ ...common, part: 'after', point: undefined, nth: 0 });
  await after.over;
  into.rounds++;
  for (let index = 0; index < calls; index++)
    count(into, world.count(`${sessionId}/c${index}`), after.told(), `c${index}`, index % 2 === 0);
}

function count(
  into: HoldTally,
  effects: number,
  told: Told | undefined,
  callId: string,
  wanted: boolean,
): void {
  into.calls++;
  const outcome = told?.outcomes[callId];
  if ((told?.questions[callId] ?? 0) > 1) into.askedTwice++;
  if ((told?.decisions[callId] ?? 0) > 1) into.decidedTwice++;
  if (effects > 1) into.duplicated++;
  if (effects > 0 && (!wanted || told?.decisions[callId] === undefined)) into.unapproved++;
  if (outcome?.type === 'ToolExecutionResult' && wanted && effects === 1) into.ran++;
  else if (outcome?.code === 'confirmation.rejected' && !wanted && effects === 0) into.denied++;
  else if (outcome?.code === 'tool.indeterminate' && wanted) into.indeterminate++;
  // At most the request was stored: there was no decision yet.
  else if (outcome?.code === 'tool.cancelled' && told?.decisions[callId] === undefined && effects === 0)
    into.cancelled++;
  else into.lost++;
}
