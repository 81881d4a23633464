import type { JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import { terminalText } from '../terminal-text.ts';

/** The caller as `GET /v1/me` describes it: `Ada (approver; verified by https://… as u-1)`. */
export function describeMe(me: JsonValue): string {
  if (!isJsonObject(me)) return 'an unknown caller';
  const { name, role, signIn } = me;
  const verified = isJsonObject(signIn)
    ? `; verified by ${text(signIn['issuer'])} as ${text(signIn['subject'])}`
    : '; token';
  return terminalText(`${text(name)} (${text(role)}${verified})`);
}

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : 'unknown');
