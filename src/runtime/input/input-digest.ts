import { digestJson, isKeyedDigest, keyedDigestJson } from '../../base/canonical.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ArtifactArgument, InputForm } from '../../call/event.ts';

/** A recorded input before redaction. */
export type RecordedInput = {
  /** Undefined in ledgers of earlier versions: the input is then the one that the schema accepted. */
  readonly form: InputForm | undefined;
  readonly effectiveInput: JsonObject;
  readonly accepted: JsonObject;
  readonly artifacts: readonly Pick<ArtifactArgument, 'digest'>[];
};

/**
 * The digest that a decision is bound to. A rendering does not describe a value completely, so it also covers
 * the arguments and the contents they name. `key`: set if part of the input is hidden.
 */
export function inputDigestOf(input: RecordedInput, key: Uint8Array | undefined): string {
  const { form, effectiveInput, accepted, artifacts } = input;
  const digested: JsonValue =
    form === 'typed'
      ? { accepted, artifacts: artifacts.map(({ digest }) => digest), rendering: effectiveInput }
      : effectiveInput;
  return key === undefined ? digestJson(digested) : keyedDigestJson(key, digested);
}

/** Does the digest match this input? */
export const isInputDigest = (digest: string, input: RecordedInput, key: Uint8Array): boolean =>
  digest === inputDigestOf(input, isKeyedDigest(digest) ? key : undefined);
