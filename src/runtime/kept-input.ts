import { digestJson, keyedDigestJson } from '../base/canonical.ts';
import type { JsonValue } from '../base/json.ts';
import type { Redactor } from '../base/redaction.ts';
import type { Seal } from '../ledger/seal.ts';

/** An input as it may be written down, with the digest of what it really is. */
export type KeptInput = {
  /** Kept form: what the redactor hides is not in it. */
  readonly kept: JsonValue;
  readonly hidden: readonly string[];
  /** Of the executed form; keyed where a plain digest could give something hidden away. */
  readonly digest: string;
};

export function keepInput(
  input: JsonValue,
  paths: readonly string[] | undefined,
  redactor: Redactor,
  seal: Seal,
): KeptInput {
  const { value, hidden } = redactor.input(input, paths);
  const digest = hidden.length === 0 ? digestJson(input) : keyedDigestJson(seal.digestKey, input);
  return { kept: value, hidden, digest };
}
