/** What every measured program has in common: a process that makes this many concurrent calls for a while. */

/** Makes calls until the time is over. Adds the duration of each call to `took`. */
export type Burst = (inFlight: number, forMs: number, took: number[]) => Promise<void>;

export type Lane = {
  readonly burst: Burst;
  /** Ends work that a burst left, so that it does not slow down other lanes. Not measured. */
  settle?(): unknown;
  close(): Promise<void>;
};

/** How a lane is started. */
export type LaneErrand = {
  readonly url: string;
  /** Different for each process. */
  readonly name: string;
  /** Entries like those that our ledger writes for one call, in order. */
  readonly samples: readonly Sample[];
};
export type Sample = { readonly text: string; readonly bodies: string };

export type BurstErrand = { readonly inFlight: number; readonly ms: number };
export type Told =
  | { readonly type: 'ready' }
  | {
      readonly type: 'measured';
      readonly calls: number;
      readonly elapsedMs: number;
      readonly took: readonly number[];
    };

const mostSamples = 20_000;

/** The main function of a process with a lane. Ends when the parent disconnects. */
export async function serveLane(open: (errand: LaneErrand) => Promise<Lane>): Promise<void> {
  const errand = JSON.parse(process.argv[2] ?? '{}') as LaneErrand; // written by the parent process
  const tell = (told: Told): void => void process.send?.(told);
  process.on('SIGINT', () => undefined); // the parent stops this process
  const lane = await open(errand);
  process.on('message', (message) => {
    const { inFlight, ms } = message as BurstErrand; // the parent sends nothing else
    const took: number[] = [];
    const beganMs = performance.now();
    const measure = async (): Promise<void> => {
      await lane.burst(inFlight, ms, took);
      const elapsedMs = performance.now() - beganMs;
      await lane.settle?.();
      tell({ type: 'measured', calls: took.length, elapsedMs, took: thin(took) });
    };
    measure().catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  });
  process.once('disconnect', () => void lane.close().finally(() => process.exit(0)));
  tell({ type: 'ready' });
}

function thin(took: readonly number[]): readonly number[] {
  const every = Math.ceil(took.length / mostSamples);
  return every <= 1 ? took : took.filter((_, index) => index % every === 0);
}

/** Makes one call after the other in each of `inFlight` workers. */
export const burstOf =
  (call: (worker: number) => Promise<void>): Burst =>
  async (inFlight, forMs, took) => {
    const untilMs = performance.now() + forMs;
    const work = async (_: unknown, worker: number): Promise<void> => {
      while (performance.now() < untilMs) {
        const beganMs = performance.now();
        await call(worker);
        took.push(performance.now() - beganMs);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, work));
  };
