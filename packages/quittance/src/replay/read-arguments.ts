import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, toJson } from '../base/json.ts';
import { namesArtifact } from '../runtime/accept-input.ts';
import { formatIssues } from '../tool/format-issues.ts';
import { coerce } from '../tool/coerce.ts';
import type { AnyTool } from '../tool/define-tool.ts';

/** The result of checking recorded arguments against the current tool. */
export type ArgumentsReading =
  | { readonly ok: true; readonly input: JsonObject }
  | { readonly ok: false; readonly refusal: string };

/** Checks them as the runtime would, without a host's `repair`. Only schemas run. */
export async function readArguments(tool: AnyTool, asked: JsonValue): Promise<ArgumentsReading> {
  if (!isJsonObject(asked)) return { ok: false, refusal: 'The arguments are not a JSON object.' };
  // Artifact contents are not loaded, so the check is skipped.
  if (namesArtifact(asked)) return { ok: true, input: asked };
  const copy = toJson(asked);
  if (copy.ok && (await tool.input.check(copy.value)).ok) return { ok: true, input: asked };
  // The runtime's coercion setting is unknown here: most runtimes coerce.
  if (tool.coerce === false)
    return { ok: false, refusal: 'The arguments do not match the schema, and the tool disables coercion.' };
  const coerced = await coerce(asked, tool.input);
  return coerced.ok
    ? { ok: true, input: coerced.input }
    : { ok: false, refusal: formatIssues(coerced.issues) };
}

/** Why an output does not match the current schema of a tool; undefined if it does. */
export async function refuseOutput(tool: AnyTool, output: JsonValue): Promise<string | undefined> {
  if (tool.output === undefined) return undefined;
  const copy = toJson(output);
  const check = copy.ok ? await tool.output.check(copy.value) : undefined;
  return check === undefined || check.ok ? undefined : formatIssues(check.issues);
}
