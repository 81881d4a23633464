/** What every request that was refused is answered with: RFC 9457, `application/problem+json`. */
export type Problem = {
  /** A name for the code, to compare; not to be fetched. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** The stable word for why: one of the package's error codes, or one that begins with `http.`. */
  readonly code: string;
  /** What was found, what was expected, and what to do. */
  readonly detail: string;
  /** What a program may want to read, e.g. `{ by, decidedAt }` of `confirmation.decided`. */
  readonly facts?: Readonly<Record<string, string>>;
};
