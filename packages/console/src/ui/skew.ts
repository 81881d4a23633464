/** Offset of the server's clock from this machine's. Timestamps come from the server, so ages need it. */
import type { Context } from 'react';
import { createContext, useEffect, useState } from 'react';

export const SkewContext: Context<number> = createContext(0);

/** A response is slightly old when it arrives. A smaller offset is not a wrong clock. */
const leastMs = 5_000;

/** `serverTime`: the server's clock, once known. */
export function useSkew(serverTime: number | undefined): number {
  const [skewMs, setSkewMs] = useState(0);
  useEffect(() => {
    if (serverTime === undefined) return;
    const found = serverTime - Date.now();
    setSkewMs((before) => (Math.abs(found - before) < leastMs ? before : found));
  }, [serverTime]);
  return skewMs;
}
