import type { Engine } from './engine.ts';

/**
 * Keeps the process alive while a caller awaits this. The timers of stores do not, so a process with nothing
 * else to do would exit in the middle of the wait (exit code 13).
 */
export async function stayAwake<Value>(
  { deadlines }: Pick<Engine, 'deadlines'>,
  awaited: Promise<Value>,
): Promise<Value> {
  const again = (): void => {
    watch = deadlines.watch(longestSleepMs, again);
  };
  let watch = deadlines.watch(longestSleepMs, again);
  try {
    return await awaited;
  } finally {
    watch.stop();
  }
}

const longestSleepMs = 3_600_000;
