import type { Awaitable } from '../base/json.ts';
import { describeThrown } from './describe-thrown.ts';
import { describeValue } from './describe-value.ts';
import { ownValue } from '../base/json.ts';
import { whenReady } from '../base/deadlines.ts';
import { readLenientJson } from '../base/lenient-json.ts';

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
      /** Set by the default check if the reason is the tool's own words. */
      readonly isInOwnWords?: true;
    };

/**
 * The default check, as a boolean: `defaultSuccessCheck(name, result) && result.rows > 0`. In order:
 *
 * - null succeeds;
 * - an own boolean `success` decides;
 * - otherwise an own boolean `ok` decides;
 * - a truthy own `is_error` or `isError` fails;
 * - a non-empty own `error` or `errors` fails;
 * - text that starts with `Error:` or `fatal:` fails, in any case;
 * - text that is a JSON object, also one that was cut, is judged like that object, unless it is a line of a log;
 * - everything else succeeds.
 *
 * Ambiguous words (`status: "failed"`, an exit code) are left to `successChecks`. The reason of a failure is in
 * `defaultSuccessVerdict`.
 */
export const defaultSuccessCheck = (toolName: string, result: unknown): boolean =>
  defaultSuccessVerdict(toolName, result).ok;

/** The default check with the reason of a failure. A check of a tool may return it. */
export function defaultSuccessVerdict(_toolName: string, result: unknown): SuccessJudgement {
  if (typeof result === 'string') return judgeText(result);
  return typeof result === 'object' && result !== null ? judgeObject(result) : passed;
}

function judgeObject(result: object): SuccessJudgement {
  const success = ownValue(result, 'success');
  if (typeof success === 'boolean') {
    return success ? passed : failed(result, 'success is false');
  }
  const ok = ownValue(result, 'ok');
  if (typeof ok === 'boolean') return ok ? passed : failed(result, 'ok is false');
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

function judgeText(text: string): SuccessJudgement {
  if (/^(?:error|fatal):/i.test(text)) return { ok: false, reason: text, isInOwnWords: true };
  const report = readReport(text);
  // A line of a log is content: `{"level":"warn","error":"none left"}`.
  return report === undefined || ['level', 'severity', 'logger'].some((key) => Object.hasOwn(report, key))
    ? passed
    : judgeObject(report);
}

/** A failure is reported at the beginning of a long text. */
const longestReport = 65_536;

/** The JSON object in a text. Of one that was cut, its members as far as they can be read. */
function readReport(text: string): object | undefined {
  const head = text.slice(0, longestReport);
  if (!/^\s*(?:\{|```)/.test(head) || !/["'](?:error|errors|success|ok|is_?error)["']/i.test(head))
    return undefined;
  const read = head === text ? parse(text) : undefined;
  if (read === undefined) return readCutObject(head);
  return isObject(read) && !Array.isArray(read) ? read : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const lenient = readLenientJson(text, 'python');
    return lenient.ok ? lenient.value : undefined;
  }
}

/** The members of an object whose end is missing. A value that was cut is its text. */
function readCutObject(text: string): object | undefined {
  const members: [string, unknown][] = [];
  let at = text.indexOf('{') + 1;
  const read = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(text) ?? [];
    at += found?.length ?? 0;
    return found;
  };
  do {
    const key = read(/\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*:\s*/y);
    if (key === undefined) break;
    const name: unknown = parse(key.slice(0, key.lastIndexOf(':')));
    const start = at;
    const value = read(cutScalar) ?? readContainer(text, at);
    at = value === undefined ? text.length : start + value.length;
    const rest = text.slice(start);
    if (value === undefined && !/^["'{[]\s*[^\s]/.test(rest)) break;
    members.push([String(name), value === undefined ? rest.replace(/^["']/, '') : parse(value)]);
  } while (read(/\s*,/y) !== undefined);
  // A complete object with more text behind it is not a report: it may be the first of many lines.
  return members.length === 0 || read(/\s*\}/y) !== undefined ? undefined : Object.fromEntries(members);
}

const cutScalar = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?\d[\d.eE+-]*|true|false|null|True|False|None/y;

/** The text of an object or a list, if its end is there. */
function readContainer(text: string, start: number): string | undefined {
  if (!'{['.includes(text.charAt(start))) return undefined;
  // A string without an end counts as one, else each quote in it would be tried.
  const parts = /"(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?|[{}[\]]/g;
  parts.lastIndex = start;
  let depth = 0;
  for (let part = parts.exec(text); part !== null; part = parts.exec(text)) {
    if (part[0] === '{' || part[0] === '[') depth += 1;
    else if ((part[0] === '}' || part[0] === ']') && --depth === 0) return text.slice(start, parts.lastIndex);
  }
  return undefined;
}

/** Empty values: absent, null, false, 0, an empty text, a word for none, an empty list or object. */
function isEmpty(value: unknown): boolean {
  if (typeof value === 'string')
    return /^\s*(?:none|null|nil|n\/a|undefined|false|0|no errors?|-)?\s*$/i.test(value);
  return isObject(value) ? Object.keys(value).length === 0 : !value;
}

/** Asks a check, or the default. The answer is always a judgement: throwing or an invalid answer is a failure. */
export function runSuccessCheck(
  check: SuccessCheck | undefined,
  toolName: string,
  result: unknown,
): Awaitable<SuccessJudgement> {
  if (check === undefined || check === defaultSuccessCheck) return defaultSuccessVerdict(toolName, result);
  try {
    return whenReady(check(toolName, result), (verdict) => judge(verdict, toolName, result), threw);
  } catch (cause) {
    return threw(cause);
  }
}

function judge(verdict: unknown, toolName: string, result: unknown): SuccessJudgement {
  const answer = typeof verdict === 'object' && verdict !== null ? verdict : { ok: verdict };
  const said = ownValue(answer, 'ok');
  if (said === true) return passed;
  if (said !== false) {
    return noAnswer(
      `The success check answered with ${describeValue(verdict)}. Expected true, false or {ok, reason}.`,
    );
  }
  const reason = ownValue(answer, 'reason');
  const retryable = ownValue(answer, 'retryable');
  const again = typeof retryable === 'boolean' ? { retryable } : {};
  if (typeof reason === 'string' && reason !== '') return { ok: false, reason, ...again };
  // A check that only says no may have asked the default, which has a reason.
  const byDefault = defaultSuccessVerdict(toolName, result);
  if (byDefault.ok) return { ok: false, reason: saidNo, ...again };
  const { isInOwnWords: _, ...judgement } = byDefault;
  return { ...judgement, ...again };
}

const saidNo = 'The success check rejected the result.';

const threw = (cause: unknown): SuccessJudgement =>
  noAnswer(`The success check threw: ${describeThrown(cause)}`);

const noAnswer = (mistake: string): SuccessJudgement => ({
  ok: false,
  reason: 'The success check gave no usable answer.',
  mistake,
});

function failed(result: object, fallback: string): SuccessJudgement {
  const error = ownValue(result, 'error');
  const retryable = [
    ownValue(result, 'retryable'),
    isObject(error) ? ownValue(error, 'retryable') : undefined,
  ];
  const said = retryable.find((value) => typeof value === 'boolean');
  const words = textOf(result);
  return {
    ok: false,
    reason: words ?? `The tool reported a failure: ${fallback}.`,
    ...(words !== undefined && { isInOwnWords: true }),
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
  const judged = defaultSuccessVerdict(toolName, result);
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
