import { UsageError } from './usage-error.ts';

export function readPort(typed: string | undefined): number {
  if (typed === undefined) return 4747;
  const port = /^\d{1,5}$/.test(typed) ? Number(typed) : Number.NaN;
  if (!(port <= 65_535))
    throw new UsageError(`--port must be a number up to 65535; found ${JSON.stringify(typed)}.`, [
      '--port 4747',
    ]);
  return port;
}
