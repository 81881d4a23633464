import { digestJson, isKeyedDigest, keyedDigestJson } from '../../base/canonical.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ArtifactArgument, InputForm } from '../../call/event.ts';

/** An input as it is on record, before redaction. */
export type RecordedInput = {
  /** Undefined in ledgers of earlier versions: the input is then the one the schema accepted. */
  readonly form: InputForm | undefined;
  readonly effectiveInput: JsonObject;
  readonly accepted: JsonObject;
  readonly artifacts: readonly Pick<ArtifactArgument, 'digest'>[];
};

/**
 * What a decision is bound to. A rendering cannot say everything about a value, so the arguments it was made from and
 * the contents they name are digested with it. `key`: given where something of it is hidden.
 */
export function inputDigestOf(input: RecordedInput, key: Uint8Array | undefined): string {
  const { form, effectiveInput, accepted, artifacts } = input;
  const digested: JsonValue =
    form === 'typed'
      ? { accepted, artifacts: artifacts.map(({ digest }) => digest), rendering: effectiveInput }
      : effectiveInput;
  return key === undefined ? digestJson(digested) : keyedDigestJson(key, digested);
}

/** Is this the input that was digested? */
export const isInputDigest = (digest: string, input: RecordedInput, key: Uint8Array): boolean =>
  digest === inputDigestOf(input, isKeyedDigest(digest) ? key : undefined);
