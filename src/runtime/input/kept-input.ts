import { digestJson, isKeyedDigest, keyedDigestJson } from '../../base/canonical.ts';
import type { JsonValue } from '../../base/json.ts';
import { createKnownSecrets, shortestShared } from '../../base/known-secrets.ts';
import type { Redacted, Redactor } from '../../base/redaction.ts';
import { redacted } from '../../base/text-mask.ts';
import type { ParsedArguments } from '../../call/tool-call.ts';
import type { Seal } from '../../ledger/seal.ts';
import { maskUnreadable } from './mask-unreadable.ts';

/** An input in its stored form, with the digest of its exact form. */
export type KeptInput = {
  /** The stored form, without values that the redactor hides. */
  readonly kept: JsonValue;
  readonly hidden: readonly string[];
  /** Those of `hidden` whose value is a secret only because it repeats another one. */
  readonly repeated: readonly string[];
  /** Digest of the executed form. Keyed if a plain digest could reveal a hidden value. */
  readonly digest: string;
  /** The hidden values in plain text. Never stored. */
  readonly secrets: readonly string[];
};

const none: readonly never[] = Object.freeze([]);

/** Is `digest` the digest of this input? Its kind depends on what was hidden when it was made. */
export const isDigestOf = (digest: string, input: JsonValue, seal: Seal): boolean =>
  digest === (isKeyedDigest(digest) ? keyedDigestJson(seal.digestKey, input) : digestJson(input));

export function keepInput(
  input: JsonValue,
  paths: readonly string[] | undefined,
  redactor: Redactor,
  seal: Seal,
  known: readonly string[] = none,
): KeptInput {
  const found =
    typeof input === 'string'
      ? keepText(input, paths, redactor, known)
      : redactor.hideInInput(input, paths, known);
  if (found === undefined)
    return { kept: input, hidden: none, repeated: none, digest: digestJson(input), secrets: none };
  const { value, hidden, repeated, secrets } = found;
  const digest = hidden.length === 0 ? digestJson(input) : keyedDigestJson(seal.digestKey, input);
  return { kept: value, hidden, repeated, digest, secrets };
}

/** The same input without secrets known from other sources. */
export function hideKnown(
  requested: KeptInput,
  input: ParsedArguments,
  known: readonly string[],
  seal: Seal,
): KeptInput {
  if (known.length === 0) return requested;
  const found: string[] = [];
  const kept = createKnownSecrets(known, shortestShared).json(requested.kept, found);
  if (kept === requested.kept) return requested;
  const digest = keyedDigestJson(seal.digestKey, input.ok ? input.arguments : input.raw);
  return {
    kept,
    hidden: [...new Set([...requested.hidden, ...found])],
    repeated: [...new Set([...requested.repeated, ...found])],
    digest,
    secrets: requested.secrets,
  };
}

/** Arguments are an object. Text that could not be parsed stays text. */
function keepText(
  text: string,
  paths: readonly string[] | undefined,
  redactor: Redactor,
  known: readonly string[],
): Redacted {
  // A text without paths: it is unknown where the named paths are.
  if (paths !== undefined && paths.length > 0)
    return { value: redacted, hidden: ['$'], repeated: [], secrets: [text] };
  const isSecretName = (name: string): boolean => redactor.input({ [name]: true }).hidden.length > 0;
  const found = new Set<string>();
  const masked = maskUnreadable(text, isSecretName, found);
  const { value, secrets } = redactor.input(masked, undefined, [...known, ...found]);
  return { value, hidden: value === text ? [] : ['$'], repeated: [], secrets: [...found, ...secrets] };
}
