/**
 * Signatures of webhooks, by the Standard Webhooks convention: HMAC-SHA-256 over `id.timestamp.body`. The id and the
 * time are signed, so a receiver can refuse copies and old messages.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Bytes of a key. Shorter ones can be guessed. */
export const shortestSecret = 24;

export type WebhookHeaders = {
  readonly 'webhook-id': string;
  /** Seconds since 1970. */
  readonly 'webhook-timestamp': string;
  /** One signature for each key, with spaces between them. */
  readonly 'webhook-signature': string;
};

export function signWebhook(
  secrets: readonly Uint8Array[],
  id: string,
  atMs: number,
  body: string,
): WebhookHeaders {
  const seconds = String(Math.floor(atMs / 1_000));
  return {
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': secrets.map((secret) => `v1,${digestOf(secret, id, seconds, body)}`).join(' '),
  };
}

export type WebhookCheck = {
  /** The key, as written in the notifications file: base64, with or without `whsec_`. */
  readonly secret: string;
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body exactly as it arrived, before any parsing. */
  readonly body: string;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** How old a message may be. Default: five minutes. */
  readonly toleranceMs?: number;
};

/** Why a webhook must not be trusted; undefined if its signature and its time are right. */
export type WebhookProblem = 'missing_headers' | 'too_old' | 'from_the_future' | 'wrong_signature';

/** Checks a webhook in the receiver. Drop messages whose `webhook-id` you have processed before. */
export function findWebhookProblem(check: WebhookCheck): WebhookProblem | undefined {
  const { secret, headers, body, nowMs, toleranceMs = 300_000 } = check;
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  );
  if (id === undefined || timestamp === undefined || signatures === undefined) return 'missing_headers';
  if (!/^\d{1,12}$/.test(timestamp)) return 'missing_headers';
  const key = decodeWebhookSecret(secret);
  // A variable that is not set would be a key that everyone knows.
  if (key.length < shortestSecret) return 'wrong_signature';
  const age = nowMs - Number(timestamp) * 1_000;
  if (age < -toleranceMs) return 'from_the_future';
  // Also if the time is not a number.
  if (!(age <= toleranceMs)) return 'too_old';
  const expected = Buffer.from(digestOf(key, id, timestamp, body));
  const isRight = signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature.startsWith('v1,') ? signature.slice(3) : '');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  return isRight ? undefined : 'wrong_signature';
}

/** The bytes of a key that is written as base64, with or without `whsec_`. */
export const decodeWebhookSecret = (secret: string): Uint8Array =>
  Buffer.from(secret.replace(/^whsec_/, ''), 'base64');

const digestOf = (secret: Uint8Array, id: string, seconds: string, body: string): string =>
  createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64');

function headerOf(headers: WebhookCheck['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const key = Object.keys(headers).find((each) => each.toLowerCase() === name);
  const value = key === undefined ? undefined : headers[key];
  return typeof value === 'string' ? value : value?.[0];
}
