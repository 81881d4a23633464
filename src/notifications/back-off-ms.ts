/** When a failed delivery is tried again, and when it is given up. */
const firstMs = 500;
const longestMs = 5 * 60_000;

/** The pause after this many tries: it doubles, up to five minutes. Half of it is random, so targets are not hit at once. */
export function backOffMs(tries: number, random: () => number = Math.random): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(tries, 30));
  return Math.round(full / 2 + (full / 2) * random());
}

const giveUpAfterMs = 24 * 3_600_000;
/** A clock that jumps must not end the tries early, nor let them go on for ever. */
const fewestDeliveries = 20;
const mostDeliveries = 1_000;

/** Is a message undelivered for good? `deliveries`: those that failed, of several tries each. */
export const isUndeliverable = (ageMs: number, deliveries: number): boolean =>
  deliveries >= (ageMs < giveUpAfterMs ? mostDeliveries : fewestDeliveries);
