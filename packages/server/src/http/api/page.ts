/** Query parameters that several lists share. */
import type { Integer } from './scalar.ts';

export type PageQuery = {
  /** @minimum 1 @maximum limits.pageRows */
  readonly limit?: Integer;
  /** The `next` of the previous page. */
  readonly cursor?: string;
};

/** A range of time. The last millisecond is the end of the year 9999. */
export type SpanQuery = {
  /**
   * Milliseconds since 1970, included.
   * @minimum 0
   * @maximum 253402300799999
   */
  readonly since?: Integer;
  /**
   * Milliseconds since 1970, not included.
   * @minimum 0
   * @maximum 253402300799999
   */
  readonly until?: Integer;
};
