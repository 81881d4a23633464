import type { JsonObject, JsonValue } from '../../base/json.ts';
import { formatPath, isJsonObject, toJson } from '../../base/json.ts';
import type { SchemaIssue } from '../../tool/schema-issue.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { answerInTime, noAnswer } from '../state/answer-in-time.ts';
import { aside } from '../state/aside.ts';
import { formatIssues } from '../../tool/format-issues.ts';
import { keepInput } from '../input/kept-input.ts';

/** How often the arguments of one call were sent to repair. */
export type RepairTries = { count: number };

/**
 * Asks the host's repair callback for better arguments. Tries are limited per tool and failing path for the
 * whole turn, so a model gets no more tries by repeating its mistake with a new call id.
 */
export async function repairInput(
  live: AcceptedCall & { readonly tool: AnyTool },
  repairs: RepairTries,
  failed: { readonly input: JsonValue; readonly issues: readonly SchemaIssue[] },
): Promise<JsonObject | undefined> {
  const { engine, turn, tool, request } = live;
  if (engine.repair === undefined) return undefined;
  const keys = failed.issues.map(({ path }) => `${tool.name}\n${formatPath(path)}`);
  const tries = Math.max(0, ...keys.map((key) => turn.repairs.get(key) ?? 0));
  // A repair that breaks another path each time gets no more tries either.
  if (tries >= engine.repair.attempts || repairs.count >= engine.repair.attempts) return undefined;
  repairs.count++;
  for (const key of keys) turn.repairs.set(key, tries + 1);
  let answer: unknown;
  try {
    const repairing = engine.repair.repair({
      callId: request.id,
      toolName: tool.name,
      arguments: failed.input,
      issues: failed.issues,
      schema: tool.input.jsonSchema,
      attempt: tries + 1,
    });
    answer = await answerInTime(engine, repairing, late);
  } catch (error) {
    // After a failed repair the call is denied for its original arguments.
    noteTry(live, repairs, failed.issues, `it threw: ${describeThrown(error)}`);
    return undefined;
  }
  if (answer === late) {
    noteTry(live, repairs, failed.issues, `it ${noAnswer}`);
    return undefined;
  }
  const repaired = toJson(answer, { refuseUnsafeIntegers: true });
  if (repaired.ok && isJsonObject(repaired.value)) {
    const { kept } = keepInput(repaired.value, tool.redact?.input, engine.redactor, engine.seal);
    noteTry(live, repairs, failed.issues, 'it gave arguments', kept);
    return repaired.value;
  }
  noteTry(live, repairs, failed.issues, 'it gave no JSON object');
  return undefined;
}

const late = Symbol('late');

/** Records a try: the problems, and what the callback did. */
function noteTry(
  live: AcceptedCall,
  { count }: RepairTries,
  issues: readonly SchemaIssue[],
  result: string,
  kept?: JsonValue,
): void {
  aside(live, `Repair, try ${count}: ${result}.`, {
    repair_try: count,
    issues: formatIssues(issues),
    ...(kept !== undefined && { arguments: kept }),
  });
}

/** Records whether the arguments from the last try match the schema. */
export function noteRepaired(
  live: AcceptedCall,
  { count }: RepairTries,
  issues: readonly SchemaIssue[],
): void {
  aside(
    live,
    issues.length === 0
      ? `Repair, try ${count}: the arguments fit.`
      : `Repair, try ${count}: the arguments still do not fit.`,
    {
      repair_try: count,
      accepted: issues.length === 0,
      ...(issues.length > 0 && { issues: formatIssues(issues) }),
    },
  );
}
