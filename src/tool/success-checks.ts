import { ownValue } from './own-value.ts';
import type { SuccessCheck, SuccessJudgement } from './success-check.ts';
import { defaultSuccessCheck } from './success-check.ts';

/**
 * Checks for answers that the default leaves alone, because their words are ambiguous. For example, a job that was
 * looked up has failed, or a command has found nothing. Each asks the default first.
 */
export const successChecks: {
  /** Fails on a status of 400 and more, in `status`, `statusCode` or `status_code`. */
  readonly httpStatus: SuccessCheck;
  /** Fails on an exit code other than 0, in `exitCode`, `exit_code`, `returncode`, `returnCode` or `code`. */
  readonly exitCode: SuccessCheck;
  /** Fails if a field has one of the words: `statusField('state', ['failed', 'cancelled'])`. */
  readonly statusField: (field?: string, failed?: readonly string[]) => SuccessCheck;
  /** The tool returns the content it read. Only a throw is a failure. */
  readonly always: SuccessCheck;
} = Object.freeze({
  httpStatus: (toolName: string, result: unknown) =>
    afterDefault(toolName, result, (answer) => {
      const status = numberIn(answer, ['status', 'statusCode', 'status_code']);
      return status === undefined || status < 400 ? undefined : `The status is ${status}.`;
    }),
  exitCode: (toolName: string, result: unknown) =>
    afterDefault(toolName, result, (answer) => {
      const code = numberIn(answer, ['exitCode', 'exit_code', 'returncode', 'returnCode', 'code']);
      return code === undefined || code === 0 ? undefined : `The exit code is ${code}.`;
    }),
  statusField:
    (
      field = 'status',
      failed = ['failed', 'failure', 'error', 'errored', 'cancelled', 'canceled', 'rejected'],
    ) =>
    (toolName: string, result: unknown) =>
      afterDefault(toolName, result, (answer) => {
        const word = ownValue(answer, field);
        const isFailed =
          typeof word === 'string' && failed.some((each) => each.toLowerCase() === word.toLowerCase());
        return isFailed ? `The field ${field} is "${word}".` : undefined;
      }),
  always: () => true,
});

function afterDefault(
  toolName: string,
  result: unknown,
  find: (answer: object) => string | undefined,
): SuccessJudgement {
  const judged = defaultSuccessCheck(toolName, result);
  if (!judged.ok || typeof result !== 'object' || result === null) return judged;
  const problem = find(result);
  if (problem === undefined) return judged;
  const words = wordsOf(result);
  return { ok: false, reason: words === undefined ? problem : `${problem} ${words}` };
}

/** A number, or a text that is a number. */
function numberIn(answer: object, fields: readonly string[]): number | undefined {
  for (const field of fields) {
    const value = ownValue(answer, field);
    if (typeof value === 'number') return value;
    if (typeof value === 'string' && /^-?\d{1,9}$/.test(value)) return Number(value);
  }
  return undefined;
}

/** The useful words of the answer. */
const wordsOf = (answer: object): string | undefined =>
  ['error', 'message', 'stderr', 'statusText', 'reason', 'detail']
    .map((field) => ownValue(answer, field))
    .find((value): value is string => typeof value === 'string' && value.trim() !== '');
