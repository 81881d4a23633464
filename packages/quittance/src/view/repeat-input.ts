/** The arguments to start with when a call is made again: those the model requested, without hidden values. */
import type { JsonObject, JsonPath, JsonValue } from '../base/json.ts';
import { defineMember, formatPath, isJsonObject } from '../base/json.ts';
import { redacted } from '../base/secret-pattern.ts';
import type { Call } from '../call/call.ts';
import type { Principal } from '../tool/tool-context.ts';

export type RepeatInput = {
  readonly input: JsonObject;
  /** Paths of values that were left out because the record hides them. */
  readonly missing: readonly string[];
};

/** A call that is made again. */
export type RepeatedCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly principal: Principal | undefined;
};

/** Claims may hold hidden values, so they are not repeated. */
export function toRepeated({ sessionId, callId, principal }: Call): RepeatedCall {
  const { claims: _, ...named } = principal ?? {};
  return { sessionId, callId, principal: Object.keys(named).length === 0 ? undefined : named };
}

/** The schema is applied again, so its input is taken and not its output. */
export function toRepeatInput(call: Pick<Call, 'acceptedInput' | 'requestedInput' | 'hidden'>): RepeatInput {
  const base = call.acceptedInput ?? call.requestedInput;
  if (!isJsonObject(base)) return { input: {}, missing: [] };
  const hidden = new Set(call.hidden);
  const missing: string[] = [];
  return { input: (withoutHidden(base, [], hidden, missing) ?? {}) as JsonObject, missing };
}

/** A mask must never run as if it were the value. */
function withoutHidden(
  value: JsonValue,
  path: JsonPath,
  hidden: ReadonlySet<string>,
  missing: string[],
): JsonValue | undefined {
  const place = formatPath(path);
  if (hidden.has(place) || (typeof value === 'string' && value.includes(redacted))) {
    missing.push(place);
    return undefined;
  }
  if (Array.isArray(value))
    return value.map(
      (item: JsonValue, index) => withoutHidden(item, [...path, index], hidden, missing) ?? null,
    );
  if (!isJsonObject(value)) return value;
  const kept: { [name: string]: JsonValue } = {};
  for (const [name, member] of Object.entries(value)) {
    const found = withoutHidden(member, [...path, name], hidden, missing);
    if (found !== undefined) defineMember(kept, name, found);
  }
  return kept;
}
