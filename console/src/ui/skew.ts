/** How far the clock of the server is ahead of this machine's: moments are the server's, and ages count from them. */
import type { Context } from 'react';
import { createContext, useEffect, useState } from 'react';

export const SkewContext: Context<number> = createContext(0);

/** An answer is a little old when it is read. Less than this is not a wrong clock. */
const leastMs = 5_000;

/** `serverTime`: what the server's clock said, as soon as it is known. */
export function useSkew(serverTime: number | undefined): number {
  const [skewMs, setSkewMs] = useState(0);
  useEffect(() => {
    if (serverTime === undefined) return;
    const found = serverTime - Date.now();
    setSkewMs((before) => (Math.abs(found - before) < leastMs ? before : found));
  }, [serverTime]);
  return skewMs;
}
