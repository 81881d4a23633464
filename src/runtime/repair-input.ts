import type { JsonObject, JsonValue } from '../base/json.ts';
import { formatPath, isJsonObject, toJson } from '../base/json.ts';
import type { SchemaIssue } from '../tool/schema-issue.ts';
import type { CallInHand } from './call-in-hand.ts';

/**
 * Asks the host's repair callback for better arguments. Bounded per tool and failing path for the whole turn: a
 * model that sends the same mistake under a fresh call id gets no fresh tries.
 */
export async function repairInput(
  hand: CallInHand,
  failed: { readonly input: JsonValue; readonly issues: readonly SchemaIssue[] },
): Promise<JsonObject | undefined> {
  const { engine, turn, knownTool, request } = hand;
  if (engine.repair === undefined) return undefined;
  const keys = failed.issues.map(({ path }) => `${knownTool.name}\n${formatPath(path)}`);
  const tries = Math.max(0, ...keys.map((key) => turn.repairs.get(key) ?? 0));
  // A repair that breaks another path each time gets no fresh tries by it either.
  if (tries >= engine.repair.attempts || hand.repairs >= engine.repair.attempts) return undefined;
  hand.repairs++;
  for (const key of keys) turn.repairs.set(key, tries + 1);
  let answer: unknown;
  try {
    answer = await engine.repair.repair({
      callId: request.id,
      toolName: knownTool.name,
      arguments: failed.input,
      issues: failed.issues,
      schema: knownTool.input.jsonSchema,
      attempt: tries + 1,
    });
  } catch {
    // A repair that fails leaves the arguments as wrong as they were: the call is denied for them.
    return undefined;
  }
  const repaired = toJson(answer, { refuseUnsafeIntegers: true });
  return repaired.ok && isJsonObject(repaired.value) ? repaired.value : undefined;
}
