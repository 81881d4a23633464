/** A call typed into the form, to test rules on it. */
import type { JsonReading, JsonValue } from 'quittance/internal/base/json';
import { formatPath, isJsonObject, parseJson } from 'quittance/internal/base/json';

export type TriedCall = {
  readonly toolName: string;
  readonly input: string;
  readonly principal: string;
  readonly metadata: string;
  readonly sessionId: string;
  readonly output: string;
  /** Has the user changed the arguments? */
  readonly isTyped: boolean;
};

export const emptyCall: TriedCall = {
  toolName: '',
  input: '{}',
  principal: '',
  metadata: '',
  sessionId: '',
  output: '',
  isTyped: false,
};

export type ReadCall =
  | { readonly ok: true; readonly body: Readonly<Record<string, JsonValue>> }
  | { readonly ok: false; readonly problems: ReadonlyMap<keyof TriedCall, string> };

/** The request, or the errors by field. Empty fields are omitted. */
export function readTriedCall(call: TriedCall): ReadCall {
  const problems = new Map<keyof TriedCall, string>();
  const body: Record<string, JsonValue> = { toolName: call.toolName };
  const read = (
    field: 'input' | 'principal' | 'metadata' | 'output',
    name: string,
    isObject: boolean,
  ): void => {
    const text = call[field];
    if (text.trim() === '') return;
    const reading = parseJson(text);
    if (!reading.ok) problems.set(field, explain(reading));
    else if (isObject && !isJsonObject(reading.value)) problems.set(field, 'This must be an object: { … }.');
    else body[name] = reading.value;
  };
  read('input', 'arguments', true);
  read('principal', 'principal', true);
  read('metadata', 'metadata', true);
  read('output', 'output', false);
  if (call.sessionId !== '') body['sessionId'] = call.sessionId;
  return problems.size === 0 ? { ok: true, body } : { ok: false, problems };
}

const explain = ({ path, problem }: JsonReading & { readonly ok: false }): string =>
  path.length === 0 ? problem : `${formatPath(path)}: ${problem}`;
