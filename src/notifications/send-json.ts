/**
 * Sends a message to a URL from the settings. The address of the real connection is checked. An answer is read up to a
 * limit, and never stored: a foreign server wrote it.
 */
import type { LookupFunction } from 'node:net';
import { isQuittanceError } from '../base/error.ts';
import { hostOf, isForbiddenAddress, isPrivateAddress } from '../outbound/address.ts';
import { createGuardedFetch } from '../outbound/guarded-fetch.ts';
import type { HttpTarget } from './notifications-settings.ts';
import type { SendResult } from './send-result.ts';

const timeoutMs = 10_000;
const longestRetryAfterMs = 3_600_000;

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
      await response.body?.cancel();
      return toResult(response);
    } catch (error) {
      if (isQuittanceError(error, 'config.invalid')) return { type: 'refused', problem: error.message };
      return { type: 'try_later', problem: describeFailure(error), afterMs: undefined };
    }
  };
}

/** Why the URL of a target must not be used, as the end of a sentence; undefined if it may. */
export function findTargetUrlProblem(url: URL, allowPrivate: boolean): string | undefined {
  const host = hostOf(url);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must start with https://';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  if (isForbiddenAddress(host)) return 'leads to a metadata service or a link-local address';
  if (allowPrivate) return undefined;
  if (url.protocol === 'http:') return 'sends everything unencrypted; use https, or set allowPrivate: true';
  if (isPrivateAddress(host) || host === 'localhost' || host.endsWith('.localhost'))
    return 'leads to a private address; set allowPrivate: true if that is meant';
  return undefined;
}

function toResult({ status, headers }: Response): SendResult {
  if (status >= 200 && status < 300) return { type: 'sent', answer: `status ${status}` };
  const problem = `status ${status}`;
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
