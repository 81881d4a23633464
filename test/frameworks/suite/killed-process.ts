/**
 * One other process per adapter. Runs of the agent hang in a body or stop for an approval there, until the process
 * kills itself. Each run has its own ledger.
 */
import type { Harness } from './harness.ts';
import type { Part } from './part.ts';
import type { Played } from './play.ts';
import { play } from './play.ts';

type Run = Part & { readonly type: 'run' };
export type KilledProcess = {
  readonly signal: Played['signal'];
  /** The process dies while the body runs for the first time. */
  readonly inTheBody: PlayedRun;
  /** The model makes two calls with the same id. The process dies while the body runs for the second one. */
  readonly inTheSecondBody: PlayedRun;
  /** The run stops for an approval of the framework, if there are such. */
  readonly stopped: PlayedRun;
  /** The process dies when the model gets the result. */
  readonly beforeTheModel: PlayedRun;
};
type PlayedRun = { readonly part: Run } & Played['parts'][number];

/** The process runs when its result is first needed. */
export function prepareKilledProcess(
  harness: Harness,
  sessionId: string,
  newPath: (ending: string) => string,
): () => Promise<KilledProcess> {
  let played: Promise<KilledProcess> | undefined;
  return () => (played ??= playAll(harness, sessionId, newPath));
}

async function playAll(
  { module, suspends }: Harness,
  sessionId: string,
  newPath: (ending: string) => string,
): Promise<KilledProcess> {
  const run = (more: Pick<Run, 'dies'> & Partial<Run>): Run => ({
    type: 'run',
    module,
    sessionId,
    ledger: newPath('.db'),
    effects: newPath('.txt'),
    ...more,
  });
  const runs = [
    run({ dies: 'in the body' }),
    run({ dies: 'in the body', rounds: 2, diesAt: 2 }),
    run({ dies: 'never', holds: suspends }),
    // Last, because it kills the process.
    run({ dies: 'before the model goes on' }),
  ] as const;
  const { signal, parts } = await play(runs);
  const at = (index: 0 | 1 | 2 | 3): PlayedRun => ({
    part: runs[index],
    hung: parts[index]?.hung ?? false,
    ran: parts[index]?.ran,
  });
  return { signal, inTheBody: at(0), inTheSecondBody: at(1), stopped: at(2), beforeTheModel: at(3) };
}
