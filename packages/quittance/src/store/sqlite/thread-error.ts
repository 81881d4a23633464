/** Errors on their way between threads. A structured clone would drop their codes. */
import type { ErrorCode } from '../../base/error.ts';
import { isQuittanceError, QuittanceError } from '../../base/error.ts';
import type { ErrorFacts } from '../../base/error-facts.ts';

export type ThreadError = {
  readonly type: 'ours' | 'other';
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  /** Of an error of SQLite. */
  readonly errcode: number | undefined;
  /** The facts of our own errors. */
  readonly facts: object;
  readonly cause: ThreadError | undefined;
};

export function toThreadError(error: unknown): ThreadError {
  const { name, message, cause } = error instanceof Error ? error : new Error(String(error));
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  const errcode: unknown = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  return {
    type: isQuittanceError(error) ? 'ours' : 'other',
    name,
    message,
    code: typeof code === 'string' ? code : undefined,
    errcode: typeof errcode === 'number' ? errcode : undefined,
    facts: isQuittanceError(error) ? error.facts : {},
    cause: cause === undefined ? undefined : toThreadError(cause),
  };
}

/** Errors of SQLite are recognized by their `errcode`: see `database.ts`. */
export function fromThreadError({ type, name, message, code, errcode, facts, cause }: ThreadError): Error {
  const because = cause && fromThreadError(cause);
  // Made by `toThreadError` from an error with this code and these facts.
  if (type === 'ours')
    return new QuittanceError(code as ErrorCode, message, facts as ErrorFacts[ErrorCode], because);
  const error = name === 'TypeError' ? new TypeError(message) : new Error(message);
  error.name = name;
  if (because !== undefined) error.cause = because;
  return Object.assign(error, code !== undefined && { code }, errcode !== undefined && { errcode });
}
