import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ArtifactArgument, InputChange, InputForm } from '../../call/event.ts';
import type { KeptInput } from './kept-input.ts';

/** The input once the schema has accepted it. */
export type PreparedInput = {
  /** What people are shown, what is digested and kept: what the schema made of the arguments. */
  readonly effective: KeptInput;
  /** The exact input behind `effective`, before redaction. Artifacts are named in it, with their digests. */
  readonly effectiveInput: JsonObject;
  /** `json`: the body gets `effectiveInput`, artifacts filled in. `typed`: that is a rendering of what it gets. */
  readonly form: InputForm;
  /** The arguments as the schema accepted them: mended, artifacts still named. */
  readonly accepted: JsonObject;
  /** The same in its kept form, where it is neither the requested nor the effective input. */
  readonly acceptedKept: JsonObject | undefined;
  /** The accepted arguments with artifacts filled in. Never handed out. */
  readonly checked: JsonObject;
  /** What the schema made of them. Functions of the tool get copies where it is JSON: see `inputForTool`. */
  readonly value: unknown;
  /** The value as it was when the schema gave it, where JSON cannot hold it. */
  readonly rendering: JsonValue | undefined;
  readonly artifacts: readonly ArtifactArgument[];
  readonly changes: readonly InputChange[];
};
