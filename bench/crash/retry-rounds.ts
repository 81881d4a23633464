/**
 * Rounds about retries: a process is killed between two attempts of a call, or in a behavior that follows it, and
 * another follows. No effect may happen twice, no call or event may be lost, and each emitted event must exist once.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { RetryErrand, RetryPoint } from './points.ts';
import type { Ledgers } from './ledgers.ts';
import type { World } from './world.ts';

export type RetryTally = {
  rounds: number;
  calls: number;
  ran: number;
  duplicated: number;
  lost: number;
  indeterminate: number;
  emittedTwice: number;
  unfollowed: number;
};

export const emptyRetryTally = (): RetryTally => ({
  rounds: 0,
  calls: 0,
  ran: 0,
  duplicated: 0,
  lost: 0,
  indeterminate: 0,
  emittedTwice: 0,
  unfollowed: 0,
});

type Told = {
  readonly outcomes: Readonly<Record<string, { readonly type: string; readonly code?: string }>>;
  readonly followed: Readonly<Record<string, number>>;
  /** Calls that the behavior could not follow, and reported. */
  readonly excused: Readonly<Record<string, number>>;
};

async function run(errand: RetryErrand): Promise<Told | undefined> {
  const child = fork(join(import.meta.dirname, 'retry-child.ts'), [JSON.stringify(errand)], {
    execArgv: ['--conditions=quittance-source'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let told: Told | undefined;
  child.on('message', (message) => (told = message as Told)); // it sends nothing else
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]; // the arguments of `exit`
  if (signal !== 'SIGKILL' && code !== 0)
    throw new Error(`The child ended with code ${String(code)}: ${JSON.stringify(errand)}`);
  if (errand.point !== undefined && signal !== 'SIGKILL')
    throw new Error(`No process reached "${errand.point}", so the round tested nothing.`);
  return told;
}

export async function playRetryRound(
  world: World,
  ledgers: Ledgers,
  { point, calls, serial }: { readonly point: RetryPoint; readonly calls: number; readonly serial: number },
  into: RetryTally,
): Promise<void> {
  const sessionId = `r${serial}`;
  const common = { sessionId, calls, service: world.url, ledger: ledgers.create(`retry-${serial}`) };
  await run({ ...common, point, nth: Math.floor(Math.random() * calls) });
  const told = await run({ ...common, point: undefined, nth: 0 });
  into.rounds++;
  for (let index = 0; index < calls; index++) {
    const callId = `c${index}`;
    const effects = world.count(`${sessionId}/${callId}`);
    const notes = world.count(`${sessionId}/note ${callId}`);
    const outcome = told?.outcomes[callId];
    const followed = told?.followed[callId] ?? 0;
    into.calls++;
    if (effects > 1 || notes > 1) into.duplicated++;
    if (followed > 1) into.emittedTwice++;
    if (followed === 0 && told?.excused[callId] === undefined) into.unfollowed++;
    if (outcome?.type === 'ToolExecutionResult' && effects === 1) into.ran++;
    else if (outcome?.code === 'tool.indeterminate') into.indeterminate++;
    else into.lost++;
  }
}
