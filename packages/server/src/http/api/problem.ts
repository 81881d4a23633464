/** The answer to every refused request: RFC 9457, `application/problem+json`. */
import type { Integer } from './scalar.ts';

export type Problem = {
  /** Identifies the code. It is a name to compare, not a URL to fetch. */
  readonly type: string;
  readonly title: string;
  readonly status: Integer;
  /** The stable code: an error code of the package, or one that begins with `http.`. */
  readonly code: string;
  /** What was found, what was expected, and what to do. */
  readonly detail: string;
  /** Details for programs, for example `{ by, decidedAt }` of `confirmation.decided`. */
  readonly facts?: Readonly<Record<string, string>>;
};
