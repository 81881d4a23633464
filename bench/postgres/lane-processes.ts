/** The processes of one measured program. */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { LaneErrand, Told } from './lane.ts';

export type Measured = { readonly perSecond: number; readonly took: readonly number[] };

export class LaneProcesses {
  readonly #children: readonly ChildProcess[];

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children;
  }

  static async start(
    file: string,
    count: number,
    errandOf: (n: number) => LaneErrand,
  ): Promise<LaneProcesses> {
    const children = Array.from({ length: count }, (_, n) =>
      fork(file, [JSON.stringify(errandOf(n))], {
        execArgv: ['--conditions=quittance-source'],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      }),
    );
    const processes = new LaneProcesses(children);
    try {
      await Promise.all(children.map(next));
    } catch (error) {
      await processes.stop();
      throw error;
    }
    return processes;
  }

  /** `inFlight` is the number of concurrent calls of all processes together; each makes at least one. */
  async measure(processes: number, inFlight: number, ms: number): Promise<Measured> {
    const used = this.#children.slice(0, processes);
    const answers = used.map(next);
    for (const child of used) child.send({ inFlight: Math.max(1, inFlight / processes), ms });
    const told = await Promise.all(answers);
    const measured = told.filter((one) => one.type === 'measured');
    return {
      perSecond: measured.reduce((sum, { calls, elapsedMs }) => sum + (calls / elapsedMs) * 1_000, 0),
      took: measured.flatMap(({ took }) => took),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const over = once(child, 'exit');
        child.disconnect();
        const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
        await over;
        clearTimeout(timer);
      }),
    );
  }
}

/** The next message of a process. Fails if the process ends first. */
function next(child: ChildProcess): Promise<Told> {
  return new Promise((resolve, reject) => {
    const told = (message: unknown): void => {
      child.off('exit', ended);
      resolve(message as Told); // a lane sends nothing else
    };
    const ended = (code: number | null): void => {
      child.off('message', told);
      reject(new Error(`A measured process ended with code ${String(code)}.`));
    };
    child.once('message', told);
    child.once('exit', ended);
  });
}

export const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
