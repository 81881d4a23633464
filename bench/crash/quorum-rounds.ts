/**
 * Rounds about a quorum. One process holds calls that need two of three people, and two others vote. Some of them are
 * killed, and a successor follows. No call may run without two people, no person may count twice, and nothing may
 * happen twice or be lost.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { QuittanceEvent } from 'quittance/events';
import type { QuorumErrand, QuorumPoint } from './points.ts';
import type { Ledgers } from './ledgers.ts';
import type { World } from './world.ts';

export type QuorumTally = {
  rounds: number;
  calls: number;
  ran: number;
  denied: number;
  duplicated: number;
  withoutQuorum: number;
  countedTwice: number;
  decidedTwice: number;
  askedTwice: number;
  lost: number;
  indeterminate: number;
};

export const emptyQuorumTally = (): QuorumTally => ({
  rounds: 0,
  calls: 0,
  ran: 0,
  denied: 0,
  duplicated: 0,
  withoutQuorum: 0,
  countedTwice: 0,
  decidedTwice: 0,
  askedTwice: 0,
  lost: 0,
  indeterminate: 0,
});

type Told = {
  readonly outcomes: Readonly<Record<string, { readonly type: string; readonly code?: string }>>;
  readonly events: readonly QuittanceEvent[];
};

function begin(errand: QuorumErrand): {
  child: ChildProcess;
  over: Promise<boolean>;
  told: () => Told | undefined;
} {
  const child = fork(join(import.meta.dirname, 'quorum-child.ts'), [JSON.stringify(errand)], {
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
    return signal === 'SIGKILL';
  });
  return { child, over, told: () => told };
}

export async function playQuorumRound(
  world: World,
  ledgers: Ledgers,
  { point, calls, serial }: { readonly point: QuorumPoint; readonly calls: number; readonly serial: number },
  into: QuorumTally,
): Promise<void> {
  const sessionId = `q${serial}`;
  const common = { sessionId, calls, service: world.url, ledger: ledgers.create(`quorum-${serial}`), by: '' };
  // Odd calls are denied by one person, so half of the calls get a vote or an intent.
  const nth = Math.floor(Math.random() * Math.ceil(calls / 2));
  const fate = { point, nth };
  const holder = begin({ ...common, part: 'holder', ...fate });
  await Promise.race([once(holder.child, 'message'), holder.over]);
  // Two people vote at the same time, in two processes. Either may be killed.
  const voters = ['ada', 'eve'].map((by) => begin({ ...common, part: 'voter', ...fate, by }));
  const killed = await Promise.all(voters.map(({ over }) => over));
  if (point.startsWith('voter') && !killed.includes(true))
    throw new Error(`No process reached "${point}", so the round tested nothing.`);
  if (point.startsWith('all')) holder.child.kill('SIGKILL');
  else if (holder.child.exitCode === null && holder.child.signalCode === null) {
    // The holder lives: all people vote on the remaining questions.
    await begin({ ...common, part: 'voter', point: undefined, nth: 0, by: 'dan,ada,eve' }).over;
  }
  await holder.over;
  const after = begin({ ...common, part: 'after', point: undefined, nth: 0 });
  await after.over;
  into.rounds++;
  for (let index = 0; index < calls; index++)
    count(into, world.count(`${sessionId}/c${index}`), after.told(), `c${index}`, index % 2 === 0);
}

function count(
  into: QuorumTally,
  effects: number,
  told: Told | undefined,
  callId: string,
  wanted: boolean,
): void {
  into.calls++;
  const events = (told?.events ?? []).filter((event) => 'callId' in event && event.callId === callId);
  const approvers = events.flatMap((event) =>
    (event.type === 'confirmation.voted' || event.type === 'confirmation.decided') &&
    event.decision === 'approve'
      ? [event.by.name]
      : [],
  );
  const outcome = told?.outcomes[callId];
  if (effects > 1) into.duplicated++;
  if (effects > 0 && (!wanted || new Set(approvers).size < 2)) into.withoutQuorum++;
  if (approvers.length > new Set(approvers).size) into.countedTwice++;
  if (events.filter(({ type }) => type === 'confirmation.decided').length > 1) into.decidedTwice++;
  if (events.filter(({ type }) => type === 'tool.held').length > 1) into.askedTwice++;
  if (outcome?.type === 'ToolExecutionResult' && wanted && effects === 1) into.ran++;
  else if (outcome?.code === 'confirmation.rejected' && !wanted && effects === 0) into.denied++;
  else if (outcome?.code === 'tool.indeterminate' && wanted) into.indeterminate++;
  else into.lost++;
}
