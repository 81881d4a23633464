import { isBusy } from './database.ts';

/** Retries without blocking the process, while another process holds the lock. */
export async function whenFree<Result>(
  attempt: () => Result | Promise<Result>,
  patienceMs = 10_000,
): Promise<Result> {
  const untilMs = performance.now() + patienceMs;
  for (let tries = 0; ; tries++)
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > untilMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, backoffMs(tries)));
    }
}

/** Short, because locks are held for about a millisecond. Grows slowly, and differs between waiting processes. */
export const backoffMs = (tries: number): number => 0.5 + Math.random() * Math.min(1 + tries / 4, 4);
