/**
 * The schema's result, in the form that is stored, shown and approved, and in the form that the body gets.
 */
import type { JsonObject, JsonPath, JsonValue } from '../../base/json.ts';
import { isJsonObject, toJson } from '../../base/json.ts';
import { isSameJson } from '../../base/same-json.ts';
import { isPlainJson, renderTyped } from '../../base/typed-rendering.ts';
import type { InputForm } from '../../call/event.ts';
import type { CompiledSchema } from '../../tool/schema.ts';
import type { FoundArtifact } from './fill-artifacts.ts';
import { nameArtifacts } from './fill-artifacts.ts';

/** Arguments that a schema accepted, and its result. */
export type AcceptedArguments = {
  readonly accepted: JsonObject;
  readonly checked: JsonObject;
  readonly output: unknown;
  readonly artifacts: readonly FoundArtifact[];
};

export type ReadOutput =
  | {
      readonly ok: true;
      readonly form: InputForm;
      readonly effectiveInput: JsonObject;
      readonly value: unknown;
      readonly rendering: JsonValue | undefined;
      /** For each artifact: is it still named in the effective input? */
      readonly inPlace: readonly boolean[];
    }
  | { readonly ok: false; readonly path: JsonPath; readonly problem: string };

const nowhere: readonly boolean[] = Object.freeze([]);

/** Is the schema's result the arguments that it checked, unchanged? */
export const isUnchanged = (schema: CompiledSchema, checked: JsonObject, output: unknown): boolean =>
  schema.keepsValue === true ||
  (isJsonObject(output) && (schema.isPlain === true || isPlainJson(output)) && isSameJson(checked, output));

export function readOutput(schema: CompiledSchema, given: AcceptedArguments): ReadOutput {
  const { checked, output } = given;
  if (isUnchanged(schema, checked, output)) return asJson(given, checked);
  if (!isJsonObject(output) || !isPlainJson(output)) return asTyped(given);
  // The validator may hold on to its result and change it later.
  const copy = toJson(output);
  if (!copy.ok) return copy;
  return asJson(given, copy.value as JsonObject); // a copy of an object is an object
}

function asJson({ accepted, checked, artifacts }: AcceptedArguments, value: JsonObject): ReadOutput {
  if (artifacts.length === 0)
    return {
      ok: true,
      form: 'json',
      effectiveInput: value === checked ? accepted : value,
      value,
      rendering: undefined,
      inPlace: nowhere,
    };
  const { named, inPlace } = nameArtifacts(value, artifacts);
  return { ok: true, form: 'json', effectiveInput: named, value, rendering: undefined, inPlace };
}

function asTyped({ output, artifacts }: AcceptedArguments): ReadOutput {
  const rendering = renderTyped(output);
  if (!rendering.ok) return rendering;
  const shown = isJsonObject(rendering.value)
    ? rendering.value
    : {
        $type: Array.isArray(output) ? 'Array' : output === null ? 'null' : typeof output,
        value: rendering.value,
      };
  const { named, inPlace } = nameArtifacts(shown, artifacts);
  return {
    ok: true,
    form: 'typed',
    effectiveInput: named,
    value: output,
    rendering: rendering.value,
    inPlace,
  };
}
