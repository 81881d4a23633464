import type { Awaitable } from '../base/json.ts';
import { describeThrown } from './describe-thrown.ts';
import { describeValue } from './describe-value.ts';
import { ownValue } from './own-value.ts';
import { whenReady } from './when-ready.ts';

/** What a check may answer: yes or no, or that with the reason the model and the record should see. */
export type SuccessVerdict = boolean | { readonly ok: boolean; readonly reason?: string };

/** Tells whether what a tool returned means that it succeeded. Replaces the default; a throw is a failure anyway. */
export type SuccessCheck = (toolName: string, result: unknown) => Awaitable<SuccessVerdict>;

/** What came of asking a check. A failure always says why, in full: half a secret is recognised by nobody. */
export type SuccessJudgement = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/**
 * The check used where none is given. In order: null succeeds; an own boolean `success` decides; a truthy own
 * `is_error` or `isError` fails; an own `error` that is not null fails; text starting with `Error:` or `fatal:`
 * fails, in any case; everything else succeeds.
 */
export function defaultSuccessCheck(_toolName: string, result: unknown): SuccessJudgement {
  if (typeof result === 'string') {
    return /^(?:error|fatal):/i.test(result) ? { ok: false, reason: result } : { ok: true };
  }
  if (typeof result !== 'object' || result === null) return { ok: true };

  const success = ownValue(result, 'success');
  if (typeof success === 'boolean') {
    return success ? { ok: true } : failed(result, 'success is false');
  }
  if (ownValue(result, 'is_error')) return failed(result, 'is_error is set');
  if (ownValue(result, 'isError')) return failed(result, 'isError is set');
  const error = ownValue(result, 'error');
  if (error !== undefined && error !== null) return failed(result, 'error is set');
  return { ok: true };
}

/**
 * Asks a check, the default where there is none. Whatever the check does, the answer is a judgement: throwing or
 * answering nonsense is a failure.
 */
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
  if (said === true) return { ok: true };
  if (said !== false) {
    return {
      ok: false,
      reason: `The success check answered with ${describeValue(verdict)}. Expected true, false or {ok, reason}.`,
    };
  }
  const reason = typeof verdict === 'object' && verdict !== null ? ownValue(verdict, 'reason') : undefined;
  return {
    ok: false,
    reason: typeof reason === 'string' && reason !== '' ? reason : 'The success check said no.',
  };
}

const threw = (cause: unknown): SuccessJudgement => ({
  ok: false,
  reason: `The success check itself threw: ${describeThrown(cause)}`,
});

const failed = (result: object, fallback: string): SuccessJudgement => ({
  ok: false,
  reason: textOf(result) ?? `The tool reported a failure: ${fallback}.`,
});

/** The words in a reported failure a reader can use: its error, its message, or the text parts of its content. */
function textOf(result: object): string | undefined {
  const error = ownValue(result, 'error');
  const candidates = [
    error,
    isObject(error) ? ownValue(error, 'message') : undefined,
    ownValue(result, 'message'),
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

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
