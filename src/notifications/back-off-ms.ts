/** When a failed delivery is tried again. */
const firstMs = 500;
const longestMs = 5 * 60_000;

/** The pause after this many tries: it doubles, up to five minutes. Half of it is random, so targets are not hit at once. */
export function backOffMs(tries: number, random: () => number = Math.random): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(tries, 30));
  return Math.round(full / 2 + (full / 2) * random());
}
