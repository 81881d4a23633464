import { addressOf } from '../../route.ts';

/** The address of the calls behind a number, with further filters. */
export type CallsAddress = (filters: Readonly<Record<string, string | undefined>>) => string;

/** Calls of a time span. Without an end, new calls appear in the list. */
export const callsSince =
  (since: number, until?: number): CallsAddress =>
  (filters) =>
    addressOf(['calls'], {
      ...filters,
      since: String(since),
      until: until === undefined ? undefined : String(until),
    });
