/** Turns anything that a body threw into a failure. */
import { isQuittanceError } from '../base/error.ts';
import type { JsonObject } from '../base/json.ts';
import { isJsonObject, toJson } from '../base/json.ts';
import type { ReasonCode } from '../call/reason.ts';
import { isReasonCode, reasonOf } from '../call/reason.ts';
import { bodyMayClaim, isToolError } from '../call/tool-error.ts';
import { isErrorLike, nameOfThrown, thrownInWords } from '../tool/describe-thrown.ts';
import { isAltered } from './stored-artifact.ts';
import { ARTIFACT_SUMMARY_MAX_CHARS as longest } from '../call/outcome.ts';

type ThrownFailure = {
  readonly code: ReasonCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly extras: JsonObject;
  /** The stack trace, uncut. */
  readonly traceback: string | undefined;
  /** The author of the tool stated that a retry is safe, or that the call had no effect. */
  readonly repeatIsSafe: boolean;
};

/**
 * Nothing is cut before it was redacted and judged by rules, because half a secret would not be recognized. A body may
 * claim only some reason codes; a recorded one may claim `any reason`.
 */
export function classifyThrown(thrown: unknown, may?: 'any reason'): ThrownFailure {
  const reply = readToolError(thrown, may === undefined ? bodyMayClaim : isReasonCode);
  if (reply !== undefined) return reply;
  // The tool misuses this package. The model cannot fix that.
  const misused = findMisuse(thrown);
  if (misused !== undefined)
    return {
      code: 'tool.execution_error',
      message: 'The tool is not configured correctly, so it could not continue.',
      retryable: false,
      extras: { exception_type: 'QuittanceError', developer: misused },
      traceback: stackOf(thrown),
      repeatIsSafe: false,
    };
  // Thrown by the reader of stored content, not by the body.
  if (isAltered(thrown))
    return {
      code: 'ledger.altered',
      message: messageOf(thrown),
      retryable: false,
      extras: {},
      traceback: undefined,
      repeatIsSafe: false,
    };
  const code: ReasonCode = isNetworkTrouble(thrown, 0) ? 'tool.network_error' : 'tool.execution_error';
  return {
    code,
    message: messageOf(thrown),
    retryable: reasonOf(code).retryable,
    extras: { exception_type: nameOfThrown(thrown), ...thrownData(thrown) },
    traceback: stackOf(thrown),
    repeatIsSafe: false,
  };
}

const misuse: ReadonlySet<string> = new Set([
  'config.invalid',
  'call.malformed',
  'contracts.invalid',
  'adapter.unsafe',
  'runtime.closed',
]);

/**
 * The developer text in a thrown error. A framework inside the tool may wrap our error in its own and repeat
 * the message.
 */
function findMisuse(thrown: unknown): string | undefined {
  const words = thrownInWords(thrown);
  try {
    for (let error = thrown, depth = 0; depth <= deepestCause; depth++) {
      if (isQuittanceError(error) && misuse.has(error.code) && words.includes(error.message)) return words;
      const { cause, error: inner } = (error ?? {}) as { cause?: unknown; error?: unknown };
      error = inner ?? cause;
    }
  } catch {
    // An object whose getters throw is not our error.
  }
  return undefined;
}

/** A foreign object may return another value on the next read, so each property is read once. */
function readToolError(
  thrown: unknown,
  mayClaim: (code: unknown) => code is ReasonCode,
): ThrownFailure | undefined {
  if (!isToolError(thrown)) return undefined;
  try {
    const { reason, message, problem, retryable, markedRetryable, effect, payloadExtras } = thrown;
    const code: ReasonCode = mayClaim(reason) ? reason : 'tool.execution_error';
    const extras = toJson(payloadExtras);
    return {
      code,
      // An error from another copy of this package may lack `problem`.
      message: (typeof problem === 'string' ? problem : '') || message || reasonOf(code).forModel,
      // If the code may not be claimed, its claim about retrying is ignored too.
      retryable: code === reason ? retryable === true : markedRetryable === true || reasonOf(code).retryable,
      extras: {
        // The part of the message beyond the problem is for the developer.
        ...(typeof problem === 'string' && problem !== message && { developer: message }),
        ...(extras.ok && isJsonObject(extras.value)
          ? extras.value
          : { not_kept: 'The extras hold something JSON cannot.' }),
      },
      traceback: undefined,
      repeatIsSafe: markedRetryable === true || effect === 'none',
    };
  } catch {
    return undefined;
  }
}

/** A sentence that describes what a body threw. */
function messageOf(thrown: unknown): string {
  const words = thrownInWords(thrown);
  if (typeof thrown === 'string' && thrown.trim() !== '') return words;
  if (isErrorLike(thrown) || hasMessage(thrown)) return words;
  return `The tool threw ${article(thrown)}${words} instead of an error.`;
}

const hasMessage = (thrown: unknown): boolean => {
  try {
    const { message } = (thrown ?? {}) as { message?: unknown };
    return typeof message === 'string' && message.trim() !== '';
  } catch {
    return false;
  }
};

const article = (thrown: unknown): string =>
  typeof thrown === 'number' || typeof thrown === 'bigint' || typeof thrown === 'boolean'
    ? `the ${typeof thrown} `
    : '';

/** The data of a thrown object that is not an error, if JSON can hold it. Redacted by field names. */
function thrownData(thrown: unknown): JsonObject {
  if (typeof thrown !== 'object' || thrown === null || isErrorLike(thrown)) return {};
  try {
    const data = toJson(thrown);
    return data.ok && isJsonObject(data.value) && Object.keys(data.value).length > 0
      ? { thrown: data.value }
      : {};
  } catch {
    return {};
  }
}

function stackOf(thrown: unknown): string | undefined {
  try {
    const { stack } = (thrown ?? {}) as { stack?: unknown };
    return isErrorLike(thrown) && typeof stack === 'string' ? stack : undefined;
  } catch {
    return undefined;
  }
}

const networkCodes: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOTFOUND',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EPIPE',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_SOCKET',
]);

/** Clients wrap the socket's error, some twice. */
const deepestCause = 5;

function isNetworkTrouble(thrown: unknown, depth: number): boolean {
  if (typeof thrown !== 'object' || thrown === null || depth > deepestCause) return false;
  try {
    const { code, name, cause } = thrown as { code?: unknown; name?: unknown; cause?: unknown };
    return networkCodes.has(code) || name === 'TimeoutError' || isNetworkTrouble(cause, depth + 1);
  } catch {
    return false;
  }
}

const gap = ' … ';

/** The head and the tail of a text, within the length of a summary. No character is cut in half. */
export function summarize(text: string): string {
  if (text.length <= longest) return text;
  const head = text.slice(0, 130).replace(/[\uD800-\uDBFF]$/, '');
  const tail = text.slice(text.length - (longest - gap.length - 130)).replace(/^[\uDC00-\uDFFF]/, '');
  return `${head}${gap}${tail}`;
}
