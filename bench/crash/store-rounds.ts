/**
 * Kills a process in what it stores with a call, checks before it runs a call, or does in recovery. A point of
 * recovery kills a second process as well. Then another process starts. No effect may happen twice, and every call
 * must end once.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { StoreErrand, StorePoint } from './points.ts';
import type { World } from './world.ts';

export type StoreTally = {
  rounds: number;
  calls: number;
  ran: number;
  duplicated: number;
  lost: number;
  indeterminate: number;
  notRun: number;
};

export const emptyStoreTally = (): StoreTally => ({
  rounds: 0,
  calls: 0,
  ran: 0,
  duplicated: 0,
  lost: 0,
  indeterminate: 0,
  notRun: 0,
});

type Told = {
  readonly outcomes: Readonly<Record<string, { readonly type: string; readonly code?: string }>>;
};

async function run(errand: StoreErrand, mustDie: boolean): Promise<Told | undefined> {
  const child = fork(join(import.meta.dirname, 'store-child.ts'), [JSON.stringify(errand)], {
    execArgv: ['--conditions=quittance-source'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let told: Told | undefined;
  child.on('message', (message) => (told = message as Told)); // it sends nothing else
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]; // the arguments of `exit`
  if (signal !== 'SIGKILL' && code !== 0)
    throw new Error(`The child ended with code ${String(code)}: ${JSON.stringify(errand)}`);
  if (mustDie && signal !== 'SIGKILL')
    throw new Error(`No process reached "${errand.point}", so the round tested nothing.`);
  return told;
}

export async function playStoreRound(
  world: World,
  folder: string,
  { point, calls, serial }: { readonly point: StorePoint; readonly calls: number; readonly serial: number },
  into: StoreTally,
): Promise<void> {
  const sessionId = `t${serial}`;
  const isOfRecovery = point.startsWith('import') || point.startsWith('recovery');
  // A dead process has one spill, which is dropped once; concurrent calls share a commit.
  const isOnce = point === 'import: after drop' || point.endsWith('commit');
  const nth = isOnce ? 0 : Math.floor(Math.random() * calls);
  const errand = {
    point,
    calls,
    sessionId,
    service: world.url,
    nth,
    ledger: join(folder, `store-${serial}.db`),
  };
  await run({ ...errand, part: 'first' }, true);
  if (isOfRecovery) await run({ ...errand, part: 'second' }, true);
  const told = await run({ ...errand, part: 'after' }, false);
  into.rounds++;
  for (let index = 0; index < calls; index++) {
    const effects = world.count(`${sessionId}/c${index}`);
    const outcome = told?.outcomes[`c${index}`];
    const succeeded = outcome?.type === 'ToolExecutionResult';
    into.calls++;
    if (effects > 1) into.duplicated++;
    else if (succeeded && (effects === 1 || point.startsWith('recovery'))) into.ran++;
    else if (outcome?.code === 'tool.indeterminate') into.indeterminate++;
    else if (
      effects === 0 &&
      (outcome?.code === 'tool.cancelled' || outcome?.code === 'confirmation.expired')
    )
      into.notRun++;
    else {
      into.lost++;
      process.stderr.write(
        `\nLost at "${point}": c${index}, ${effects} effects, ${JSON.stringify(outcome)}\n`,
      );
    }
  }
}
