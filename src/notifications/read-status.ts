/** Chat programs also report failures in the text of an answer with status 200. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, readJsonText } from '../base/json.ts';
import type { HttpTarget } from './notifications-settings.ts';

/** Failures of Slack that pass: https://docs.slack.dev/reference/methods/chat.postMessage#errors */
const passing: ReadonlySet<string> = new Set([
  'ratelimited',
  'rate_limited',
  'message_limit_exceeded',
  'request_timeout',
  'service_unavailable',
  'internal_error',
  'fatal_error',
]);

/** The status that an answer stands for. `text`: its first part. */
export function readStatus(type: HttpTarget['type'], status: number, text: string): number {
  if (status < 200 || status > 299) return status;
  switch (type) {
    case 'webhook':
      return status;
    case 'slack': {
      const error = slackError(text);
      return error === undefined ? status : passing.has(error) ? 503 : 400;
    }
    case 'teams': {
      // "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 …"
      if (!/^\s*"?Webhook message delivery failed/i.test(text)) return status;
      return Number(/HTTP error ([45]\d\d)\b/.exec(text)?.[1] ?? 503);
    }
  }
}

function slackError(text: string): string | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const { ok, error } = toObject(readJsonText(text));
    if (ok !== false) return undefined;
    return typeof error === 'string' ? error : 'unknown';
  } catch {
    return undefined;
  }
}

const toObject = (value: JsonValue): JsonObject => (isJsonObject(value) ? value : {});
