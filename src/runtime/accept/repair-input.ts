import type { JsonObject, JsonValue } from '../../base/json.ts';
import { formatPath, isJsonObject, toJson } from '../../base/json.ts';
import type { SchemaIssue } from '../../tool/schema-issue.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { formatIssues } from '../../tool/format-issues.ts';
import { keepInput } from '../input/kept-input.ts';

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
  } catch (error) {
    // A repair that fails leaves the arguments as wrong as they were: the call is denied for them.
    noteTry(hand, failed.issues, `it threw: ${describeThrown(error)}`);
    return undefined;
  }
  const repaired = toJson(answer, { refuseUnsafeIntegers: true });
  if (repaired.ok && isJsonObject(repaired.value)) {
    const { kept } = keepInput(repaired.value, knownTool.redact?.input, engine.redactor, engine.seal);
    noteTry(hand, failed.issues, 'it gave arguments', kept);
    return repaired.value;
  }
  noteTry(hand, failed.issues, 'it gave no JSON object');
  return undefined;
}

/** Puts a try on the record of the call: what was wrong, and what the callback did about it. */
function noteTry(hand: CallInHand, issues: readonly SchemaIssue[], result: string, kept?: JsonValue): void {
  hand.aside(`Repair, try ${hand.repairs}: ${result}.`, {
    repair_try: hand.repairs,
    issues: formatIssues(issues),
    ...(kept !== undefined && { arguments: kept }),
  });
}

/** Puts on record whether the arguments that the last try gave fit the tool. */
export function noteRepaired(hand: CallInHand, issues: readonly SchemaIssue[]): void {
  hand.aside(
    issues.length === 0
      ? `Repair, try ${hand.repairs}: the arguments fit.`
      : `Repair, try ${hand.repairs}: the arguments still do not fit.`,
    {
      repair_try: hand.repairs,
      accepted: issues.length === 0,
      ...(issues.length > 0 && { issues: formatIssues(issues) }),
    },
  );
}
