/** Graphile Worker: one job. A call is over when its task has run. */
import { burstOf, serveLane } from '../postgres/lane.ts';

type Graphile = {
  readonly run: (options: object) => Promise<{
    addJob(task: string, payload: object): Promise<unknown>;
    stop(): Promise<void>;
  }>;
  readonly Logger: new (factory: () => () => void) => unknown;
};

const packageName = 'graphile-worker'; // installed by the bench only, so its types are not here

await serveLane(async ({ url }) => {
  const { run, Logger } = (await import(packageName)) as Graphile;
  const waiting = new Map<number, () => void>();
  const runner = await run({
    connectionString: url,
    concurrency: 32,
    maxPoolSize: 20,
    noHandleSignals: true,
    logger: new Logger(() => () => undefined),
    taskList: {
      send_mail: async (payload: unknown) => {
        const { days } = payload as { days: number };
        waiting.get(days)?.();
        waiting.delete(days);
      },
    },
  });
  let made = 0;
  return {
    burst: burstOf(async () => {
      const days = made++;
      const ran = new Promise<void>((resolve) => waiting.set(days, resolve));
      await runner.addJob('send_mail', { city: 'Lyon', days });
      await ran;
    }),
    close: () => runner.stop(),
  };
});
