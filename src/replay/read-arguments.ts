import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, toJson } from '../base/json.ts';
import { namesArtifact } from '../runtime/input/artifact-arguments.ts';
import { formatIssues } from '../tool/format-issues.ts';
import { coerce } from '../tool/coerce.ts';
import type { AnyTool } from '../tool/define-tool.ts';

/** What a tool as it is now makes of arguments as they came then. */
export type ArgumentsReading =
  { readonly ok: true; readonly input: JsonObject } | { readonly ok: false; readonly refusal: string };

/** Reads them as the runtime would, but for what a host's `repair` might do. Nothing is run but schemas. */
export async function readArguments(tool: AnyTool, asked: JsonValue): Promise<ArgumentsReading> {
  if (!isJsonObject(asked)) return { ok: false, refusal: 'The arguments are no JSON object.' };
  // What an artifact holds is not looked up: whether it fits is left open.
  if (namesArtifact(asked)) return { ok: true, input: asked };
  const copy = toJson(asked);
  if (copy.ok && (await tool.input.check(copy.value)).ok) return { ok: true, input: asked };
  // What the runtime says about tools that do not is not known here: most coerce.
  if (tool.coerce === false)
    return { ok: false, refusal: 'The arguments do not fit, and the tool has them as they are.' };
  const coerced = await coerce(asked, tool.input);
  return coerced.ok
    ? { ok: true, input: coerced.input }
    : { ok: false, refusal: formatIssues(coerced.issues) };
}

/** Why an output does not fit a tool as it is now; undefined where it does. */
export async function refuseOutput(tool: AnyTool, output: JsonValue): Promise<string | undefined> {
  if (tool.output === undefined) return undefined;
  const copy = toJson(output);
  const check = copy.ok ? await tool.output.check(copy.value) : undefined;
  return check === undefined || check.ok ? undefined : formatIssues(check.issues);
}
