import { digestJson, keyedDigestJson } from '../base/canonical.ts';
import type { JsonValue } from '../base/json.ts';
import type { Redacted, Redactor } from '../base/redaction.ts';
import { redacted } from '../base/secret-mask.ts';
import type { Seal } from '../ledger/seal.ts';
import { maskUnreadable } from './unreadable-text.ts';

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
  const { value, hidden } =
    typeof input === 'string' ? keepText(input, paths, redactor) : redactor.input(input, paths);
  const digest = hidden.length === 0 ? digestJson(input) : keyedDigestJson(seal.digestKey, input);
  return { kept: value, hidden, digest };
}

/** Arguments are an object; a text is what could not be read as one. */
function keepText(text: string, paths: readonly string[] | undefined, redactor: Redactor): Redacted {
  // Nobody can say what stands at a path of a text that has none.
  if (paths !== undefined && paths.length > 0) return { value: redacted, hidden: ['$'] };
  const isSecretName = (name: string): boolean => redactor.input({ [name]: true }).hidden.length > 0;
  const { value } = redactor.input(maskUnreadable(text, isSecretName));
  return { value, hidden: value === text ? [] : ['$'] };
}
