import type { JsonObject } from '../base/json.ts';
import type { InputChange } from '../call/event.ts';
import type { KeptInput } from './kept-input.ts';

/** The input once the schema has accepted it. */
export type PreparedInput = {
  /** As it is kept: after coercion, artifacts still named. Same object as the requested one where nothing changed. */
  readonly effective: KeptInput;
  /** The exact input behind `effective`, before redaction. */
  readonly effectiveInput: JsonObject;
  /** With artifacts filled in. Never handed to the body. */
  readonly checked: JsonObject;
  /** What the body gets: the schema's own reading of the input. */
  readonly executed: unknown;
  readonly changes: readonly InputChange[];
};
