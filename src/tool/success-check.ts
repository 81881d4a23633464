import type { Awaitable } from '../base/json.ts';
import { describeThrown } from './describe-thrown.ts';
import { describeValue } from './describe-value.ts';
import { ownValue } from './own-value.ts';
import { whenReady } from '../base/when-ready.ts';

/** The answer of a check: yes or no, or that with the reason for the model and the record. */
export type SuccessVerdict = boolean | { readonly ok: boolean; readonly reason?: string };

/** Decides whether the return value of a tool is a success. Replaces the default; a throw is a failure anyway. */
export type SuccessCheck = (toolName: string, result: unknown) => Awaitable<SuccessVerdict>;

/** The result of a check. A failure always has its full reason: half a secret is not recognized. */
export type SuccessJudgement =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly reason: string;
      /** Set if the tool itself says, next to its error, whether a retry makes sense. */
      readonly retryable?: boolean;
      /** Set if the check itself failed: how, for the developer. The result is then neither good nor bad. */
      readonly mistake?: string;
    };

/**
 * The default check. In order:
 *
 * - null succeeds;
 * - an own boolean `success` decides;
 * - an own `ok` that is false fails;
 * - a truthy own `is_error` or `isError` fails;
 * - a non-empty own `error` or `errors` fails;
 * - text that starts with `Error:` or `fatal:` fails, in any case;
 * - text that is a JSON object with only an error in it fails;
 * - everything else succeeds.
 *
 * Ambiguous words (`status: "failed"`, an exit code) are left to `successChecks`.
 */
export function defaultSuccessCheck(_toolName: string, result: unknown): SuccessJudgement {
  if (typeof result === 'string') return judgeText(result);
  if (typeof result !== 'object' || result === null) return passed;

  const success = ownValue(result, 'success');
  if (typeof success === 'boolean') {
    return success ? passed : failed(result, 'success is false');
  }
  if (ownValue(result, 'ok') === false) return failed(result, 'ok is false');
  if (ownValue(result, 'is_error')) return failed(result, 'is_error is set');
  if (ownValue(result, 'isError')) return failed(result, 'isError is set');
  if (!isEmpty(ownValue(result, 'error'))) return failed(result, 'error is set');
  const errors = ownValue(result, 'errors');
  // A number counts errors in something that was examined: `{errors: 3, warnings: 1}`.
  if (typeof errors !== 'number' && errors !== true && !isEmpty(errors))
    return failed(result, 'errors is set');
  return passed;
}

const passed: SuccessJudgement = Object.freeze({ ok: true });

/** A reported error is short. A longer text is content. */
const longestReport = 65_536;
const errorSiblings: ReadonlySet<string> = new Set(['error', 'message', 'code', 'status', 'details']);

function judgeText(text: string): SuccessJudgement {
  if (/^(?:error|fatal):/i.test(text)) return { ok: false, reason: text };
  const report =
    text.length <= longestReport && /^\s*\{[^]*"error"[^]*\}\s*$/.test(text) ? parse(text) : undefined;
  if (!isObject(report) || isEmpty(ownValue(report, 'error'))) return { ok: true };
  const isOnlyError = Object.entries(report).every(
    ([key, value]) => errorSiblings.has(key) || isEmpty(value),
  );
  return isOnlyError ? failed(report, 'error is set') : { ok: true };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Empty values: absent, null, false, 0, an empty text, list or object. */
function isEmpty(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() === '';
  return isObject(value) ? Object.keys(value).length === 0 : !value;
}

/** Asks a check, or the default. The answer is always a judgement: throwing or an invalid answer is a failure. */
export function runSuccessCheck(
  check: SuccessCheck | undefined,
  toolName: string,
  result: unknown,
): Awaitable<SuccessJudgement> {
  try {
    return whenReady((check ?? defaultSuccessCheck)(toolName, result), judge, threw);
  } catch (cause) {
    return threw(cause);
  }
}

function judge(verdict: unknown): SuccessJudgement {
  const said = typeof verdict === 'object' && verdict !== null ? ownValue(verdict, 'ok') : verdict;
  if (said === true) return passed;
  if (said !== false) {
    return noAnswer(
      `The success check answered with ${describeValue(verdict)}. Expected true, false or {ok, reason}.`,
    );
  }
  if (typeof verdict !== 'object' || verdict === null) return { ok: false, reason: saidNo };
  const reason = ownValue(verdict, 'reason');
  const retryable = ownValue(verdict, 'retryable');
  return {
    ok: false,
    reason: typeof reason === 'string' && reason !== '' ? reason : saidNo,
    ...(typeof retryable === 'boolean' && { retryable }),
  };
}

const saidNo = 'The success check rejected the result.';

const threw = (cause: unknown): SuccessJudgement =>
  noAnswer(`The success check threw: ${describeThrown(cause)}`);

const noAnswer = (mistake: string): SuccessJudgement => ({
  ok: false,
  reason: 'The success check gave no usable answer.',
  mistake,
});

const bareReason = 'The tool reported a failure: ';

/** Does the reason of the default check contain no words of the tool? */
export const isBareReason = (reason: string): boolean => reason.startsWith(bareReason);

function failed(result: object, fallback: string): SuccessJudgement {
  const error = ownValue(result, 'error');
  const retryable = [
    ownValue(result, 'retryable'),
    isObject(error) ? ownValue(error, 'retryable') : undefined,
  ];
  const said = retryable.find((value) => typeof value === 'boolean');
  return {
    ok: false,
    reason: textOf(result) ?? `${bareReason}${fallback}.`,
    ...(typeof said === 'boolean' && { retryable: said }),
  };
}

/** The useful words in a reported failure: its error, its message, or the text parts of its content. */
function textOf(result: object): string | undefined {
  const error = ownValue(result, 'error');
  const errors = ownValue(result, 'errors');
  const candidates = [
    error,
    isObject(error) ? ownValue(error, 'message') : undefined,
    ownValue(result, 'message'),
    ...(Array.isArray(errors) ? [messagesOf(errors)] : [errors]),
  ];
  const content = ownValue(result, 'content');
  if (Array.isArray(content)) {
    const parts = content.map((part: unknown) => (isObject(part) ? ownValue(part, 'text') : undefined));
    candidates.push(parts.filter((part) => typeof part === 'string').join('\n'));
  } else {
    candidates.push(content);
  }
  return candidates.filter((candidate) => typeof candidate === 'string').find((text) => text.trim() !== '');
}

/** `{errors: [{message}]}`, as GraphQL and many APIs write it. */
const messagesOf = (errors: readonly unknown[]): string =>
  errors
    .map((each) => (isObject(each) ? (ownValue(each, 'message') ?? ownValue(each, 'detail')) : each))
    .filter((each) => typeof each === 'string')
    .join('; ');

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
