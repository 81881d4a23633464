import { setTimeout as sleep } from 'node:timers/promises';

/** Polls until there is a value, for at most two seconds. */
export async function waitFor<Value>(look: () => Promise<Value | undefined>): Promise<Value | undefined> {
  for (let tries = 0; tries < 400; tries++) {
    const value = await look();
    if (value !== undefined) return value;
    await sleep(5);
  }
  return undefined;
}
