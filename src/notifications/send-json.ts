/**
 * Sends a message to a URL from the settings. The address of the real connection is checked. An answer is read up to a
 * limit, and never stored: a foreign server wrote it.
 */
import type { LookupFunction } from 'node:net';
import { isQuittanceError } from '../base/error.ts';
import { isForbiddenAddress, isPrivateAddress } from '../outbound/address.ts';
import { createGuardedFetch } from '../outbound/guarded-fetch.ts';
import type { HttpTarget } from './notifications-settings.ts';
import type { SendResult } from './send-result.ts';
import { findTargetUrlProblem } from './find-target-url-problem.ts';
import { readStatus } from './read-status.ts';

const timeoutMs = 10_000;
const longestRetryAfterMs = 3_600_000;
const longestAnswer = 65_536;
const longestReadMs = 1_000;

export type SendJson = (
  body: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<SendResult>;

/** `lookup`: resolves names; default: the resolver of the system. */
export function createSendJson(target: HttpTarget, lookup?: LookupFunction): SendJson {
  const guardedFetch = createGuardedFetch({
    subject: `The target "${target.name}"`,
    findProblem: (url) => findTargetUrlProblem(url, target.allowPrivate),
    forbids: (address) => (target.allowPrivate ? isForbiddenAddress(address) : isPrivateAddress(address)),
    ...(lookup !== undefined && { lookup }),
  });
  return async (body, headers, signal) => {
    try {
      const response = await guardedFetch(target.url, {
        method: 'POST',
        body,
        headers: { ...headers, 'user-agent': 'quittance' },
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      const text = await readAnswer(response);
      return toResult(response, readStatus(target.type, response.status, text));
    } catch (error) {
      if (isQuittanceError(error, 'config.invalid')) return { type: 'refused', problem: error.message };
      return { type: 'try_later', problem: describeFailure(error), afterMs: undefined };
    }
  };
}

/**
 * The answer, up to a limit. A connection whose answer was read to the end serves the next message. A long answer is not
 * worth it.
 */
async function readAnswer({ body }: Response): Promise<string> {
  if (body === null) return '';
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  const giveUp = setTimeout(() => void reader.cancel().catch(() => undefined), longestReadMs);
  try {
    let left = longestAnswer;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
      left -= value.byteLength;
      if (left >= 0) continue;
      await reader.cancel();
      break;
    }
  } catch {
    // The status has arrived, and says how the delivery ended.
  } finally {
    clearTimeout(giveUp);
  }
  return text;
}

/** `status`: the one that the answer stands for. */
function toResult({ status: sent, headers }: Response, status: number): SendResult {
  if (status >= 200 && status < 300) return { type: 'sent', answer: `status ${status}` };
  const problem = status === sent ? `status ${status}` : `status ${sent}, but the answer reports a failure`;
  // 408 and 429 ask for another try. Other statuses of 400 and above say that this message is wrong.
  if (status >= 500 || status === 408 || status === 425 || status === 429)
    return { type: 'try_later', problem, afterMs: readRetryAfter(headers.get('retry-after')) };
  return { type: 'refused', problem };
}

/** Seconds, or a date. A target cannot delay its messages for longer than an hour. */
function readRetryAfter(text: string | null): number | undefined {
  if (text === null) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, longestRetryAfterMs) : undefined;
}

function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed';
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1_000} s`;
  const { code } = error as NodeJS.ErrnoException;
  return code ?? error.name;
}
