import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ArtifactArgument, InputChange, InputForm } from '../../call/event.ts';
import type { KeptInput } from './kept-input.ts';

/** The input after the schema accepted it. */
export type PreparedInput = {
  /** The schema's result, as it is shown, digested and stored. */
  readonly effective: KeptInput;
  /** The exact input behind `effective`, before redaction. Artifacts are named in it, with their digests. */
  readonly effectiveInput: JsonObject;
  /**
   * `json`: the body gets `effectiveInput` with artifacts filled in. `typed`: `effectiveInput` is a rendering
   * of what the body gets.
   */
  readonly form: InputForm;
  /** The arguments that the schema accepted: after coercion or repair, artifacts still named. */
  readonly accepted: JsonObject;
  /** Their stored form, if it differs from both the requested and the effective input. */
  readonly acceptedKept: JsonObject | undefined;
  /** The accepted arguments with artifacts filled in. Never passed to other code. */
  readonly checked: JsonObject;
  /** The schema's result. Functions of the tool get copies if it is JSON: see `inputForTool`. */
  readonly value: unknown;
  /** A rendering of the value when the schema returned it, if JSON cannot hold it. */
  readonly rendering: JsonValue | undefined;
  readonly artifacts: readonly ArtifactArgument[];
  readonly changes: readonly InputChange[];
};

const none: readonly never[] = Object.freeze([]);

/** Arguments that the schema accepted as they are, without artifacts: most calls. */
export const unchangedInput = (given: JsonObject, requested: KeptInput): PreparedInput => ({
  effective: requested,
  effectiveInput: given,
  form: 'json',
  accepted: given,
  acceptedKept: undefined,
  checked: given,
  value: given,
  rendering: undefined,
  artifacts: none,
  changes: none,
});
