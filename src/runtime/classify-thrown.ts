import type { JsonObject } from '../base/json.ts';
import { isJsonObject, toJson } from '../base/json.ts';
import type { ReasonCode } from '../call/reason.ts';
import { isReasonCode, reasonOf } from '../call/reason.ts';
import { bodyMayClaim, isToolError } from '../call/tool-error.ts';
import { cutText } from '../tool/cut-text.ts';
import { isAltered } from './read-stored-artifact.ts';

export type ThrownFailure = {
  readonly code: ReasonCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly extras: JsonObject;
  /** Where it was thrown, as long as it is. */
  readonly traceback: string | undefined;
  /** The author of the tool said in so many words that trying again is safe. */
  readonly authorSaysRetry: boolean;
};

/**
 * What a body threw, whatever it is, as a failure. Nothing is cut here, before it was cleaned and rules had their
 * say: half a secret is recognised by nobody. Of the reasons, a body may give some; a recorded one may give `any`.
 */
export function classifyThrown(thrown: unknown, may?: 'any reason'): ThrownFailure {
  const told = readToolError(thrown, may === undefined ? bodyMayClaim : isReasonCode);
  if (told !== undefined) return told;
  // Said by no body: by what a body reads stored content with.
  if (isAltered(thrown))
    return {
      code: 'ledger.altered',
      message: messageOf(thrown),
      retryable: false,
      extras: {},
      traceback: undefined,
      authorSaysRetry: false,
    };
  const code: ReasonCode = isNetworkTrouble(thrown, 0) ? 'tool.network_error' : 'tool.execution_error';
  return {
    code,
    message: messageOf(thrown),
    retryable: reasonOf(code).retryable,
    extras: { exception_type: typeOf(thrown) },
    traceback: stackOf(thrown),
    authorSaysRetry: false,
  };
}

/** Somebody else's object may answer otherwise when it is read again, so each property is read once. */
function readToolError(
  thrown: unknown,
  mayClaim: (code: unknown) => code is ReasonCode,
): ThrownFailure | undefined {
  if (!isToolError(thrown)) return undefined;
  try {
    const { reason, message, retryable, markedRetryable, payloadExtras } = thrown;
    const code: ReasonCode = mayClaim(reason) ? reason : 'tool.execution_error';
    const extras = toJson(payloadExtras);
    return {
      code,
      message: String(message) || reasonOf(code).title,
      // A code that is not for a body to say says nothing about retrying either.
      retryable: code === reason ? retryable === true : markedRetryable === true || reasonOf(code).retryable,
      extras:
        extras.ok && isJsonObject(extras.value)
          ? extras.value
          : { not_kept: 'The extras hold something JSON cannot.' },
      traceback: undefined,
      authorSaysRetry: markedRetryable === true,
    };
  } catch {
    return undefined;
  }
}

function messageOf(thrown: unknown): string {
  if (thrown === undefined || thrown === null) return `The tool threw ${String(thrown)} instead of an error.`;
  try {
    const message: unknown = thrown instanceof Error ? thrown.message || thrown.name : thrown;
    // Clients say little themselves ("fetch failed"); what happened is in the cause.
    const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause.message : '';
    if (cause !== '' && !String(message).includes(cause)) return `${String(message)}: ${cause}`;
    if (String(message) !== '') return String(message);
  } catch {
    // Then its type has to do.
  }
  return `The tool threw a ${typeOf(thrown)} without a message.`;
}

function typeOf(thrown: unknown): string {
  if (thrown === null) return 'null';
  if (typeof thrown !== 'object') return typeof thrown;
  try {
    const name: unknown = (thrown as { name?: unknown }).name ?? thrown.constructor.name;
    return typeof name === 'string' && name !== '' ? cutText(name, 100) : 'object';
  } catch {
    return 'object';
  }
}

function stackOf(thrown: unknown): string | undefined {
  try {
    return thrown instanceof Error && typeof thrown.stack === 'string' ? thrown.stack : undefined;
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
