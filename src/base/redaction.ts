/**
 * Makes the redacted form of payloads: what may be stored, shown and sent to the model.
 *
 * 1. If nothing is hidden, the value itself is returned, not a copy.
 * 2. The paths in `hidden` reveal nothing: a key that contains a secret is masked there too.
 * 3. A value of at least 8 characters that is hidden in one place is hidden everywhere.
 * 4. Redacting a redacted value again changes nothing.
 */
import { QuittanceError } from './error.ts';
import type { JsonValue } from './json.ts';
import { createKnownSecrets, shortestShared } from './known-secrets.ts';
import { createKeyReader } from './key-reader.ts';
import type { RedactionPath } from './redaction-path.ts';
import { maskPath, parseRedactionPath, valuesAt } from './redaction-path.ts';
import type { SecretRules, SecretWalk } from './secret-walk.ts';
import { startWalk } from './secret-walk.ts';
import { hideSecrets } from './hide-secrets.ts';
import { addParts, collectSecretLeaves } from './secret-leaves.ts';
import { createTextMask, redacted } from './text-mask.ts';
import { squashName } from './secret-names.ts';

/** What a host may add to, or remove from, the default redaction. */
export interface RedactionOptions {
  /** More names whose values are secrets: words at the end of a name, or a pattern for whole names. */
  readonly keyNames?: readonly (string | RegExp)[];
  /** More shapes of secrets. A group named `secret` limits what is hidden to that part of the match. */
  readonly patterns?: readonly { readonly name: string; readonly pattern: RegExp }[];
  /** Names that are never hidden because of their name. */
  readonly keepKeys?: readonly string[];
  /** False: only what is listed here is hidden. */
  readonly defaults?: boolean;
}

/** A payload without its secrets. */
export type Redacted = {
  readonly value: JsonValue;
  /** Paths of hidden values, e.g. `$.card.number`; empty if `value` is unchanged. */
  readonly hidden: readonly string[];
  /** Those of `hidden` whose value is a secret only because of another place. */
  readonly repeated: readonly string[];
  /** The hidden values, in clear. Kept in memory only, to find repetitions. */
  readonly secrets: readonly string[];
};

export interface Redactor {
  /**
   * Hides by the names of members, by the form of values, and at `paths`. A secret of at least 8 characters that is
   * hidden in one place, or is in `known`, is hidden everywhere in the value.
   */
  input(value: JsonValue, paths?: readonly string[], known?: readonly string[]): Redacted;
  /** The same without the names of members: names in an output may mean anything. */
  output(value: JsonValue, paths?: readonly string[]): Redacted;
  /** Like `input`; undefined if nothing is hidden. */
  hideInInput(value: JsonValue, paths?: readonly string[], known?: readonly string[]): Redacted | undefined;
  /** Like `output`; undefined if nothing is hidden. */
  hideInOutput(value: JsonValue, paths?: readonly string[]): Redacted | undefined;
  /** Hides the parts of a text that look like a secret. */
  text(text: string): string;
}

const nothing: readonly string[] = Object.freeze([]);

const optionNames: ReadonlySet<string> = new Set(['keyNames', 'patterns', 'keepKeys', 'defaults']);

/** Creates a redactor. Throws `config.invalid` if an option cannot work. */
export function createRedactor(options: RedactionOptions = {}): Redactor {
  for (const key of Object.keys(options))
    if (!optionNames.has(key))
      throw new QuittanceError(
        'config.invalid',
        `No option of redaction named ${JSON.stringify(key)}. Known options: ${[...optionNames].join(', ')}.`,
      );
  const { keyNames = [], patterns = [], keepKeys = [], defaults = true } = options;
  for (const keyName of keyNames) checkKeyName(keyName);
  for (const pattern of patterns) checkPattern(pattern);
  for (const key of keepKeys) if (typeof key !== 'string') refuse('keepKeys', 'strings', key);

  const maskText = createTextMask(defaults, patterns);
  const maskCommand = createTextMask(defaults, patterns, { isCommand: true });
  const readKey = createKeyReader({ keyNames, keepKeys, defaults, maskText });
  const parsePaths = createPathReader();

  const hideBy = (rules: SecretRules): Redactor['hideInInput'] => {
    /** Most payloads hide nothing, so the walk of one that found nothing serves for the next. */
    let spare: SecretWalk | undefined;
    return (value, paths = nothing, known = nothing) => {
      const walk = spare ?? startWalk(rules);
      spare = undefined;
      const { hidden, secrets } = walk.found;
      let kept = hideSecrets(value, walk);
      if (paths.length > 0)
        for (const path of parsePaths(paths)) {
          for (const leaf of valuesAt(value, path)) collectSecretLeaves(leaf, maskText, secrets);
          kept = maskPath(kept, path, redacted, hidden);
        }
      if (secrets.size === 0 && hidden.length === 0 && known.length === 0) {
        spare = walk;
        return undefined;
      }
      addParts(secrets);
      const repeated: string[] = [];
      if (secrets.size > 0 || known.length > 0)
        kept = createKnownSecrets([...secrets, ...known], shortestShared).json(kept, repeated);
      hidden.push(...repeated);
      return hidden.length === 0
        ? undefined
        : { value: kept, hidden: [...new Set(hidden)], repeated, secrets: [...secrets] };
    };
  };

  const hideInInput = hideBy({ maskText, maskCommand, readKey, byName: true });
  const hideInOutput = hideBy({ maskText, maskCommand, readKey, byName: false });
  return {
    input: (value, paths, known) => hideInInput(value, paths, known) ?? unchanged(value),
    output: (value, paths) => hideInOutput(value, paths) ?? unchanged(value),
    hideInInput,
    hideInOutput: (value, paths) => hideInOutput(value, paths),
    text: (text) => maskText(text),
  };
}

const unchanged = (value: JsonValue): Redacted => ({
  value,
  hidden: nothing,
  repeated: nothing,
  secrets: nothing,
});

/** A tool passes the same list with every call, so it is read only once. */
function createPathReader(): (paths: readonly string[]) => readonly RedactionPath[] {
  const known = new WeakMap<readonly string[], readonly RedactionPath[]>();
  return (paths) => {
    const parsed = known.get(paths) ?? paths.map(parseRedactionPath);
    known.set(paths, parsed);
    return parsed;
  };
}

function checkKeyName(keyName: unknown): void {
  if (typeof keyName === 'string' ? squashName(keyName) !== '' : isRegExp(keyName)) return;
  refuse('keyNames', 'names with at least one letter, or RegExps', keyName);
}

function checkPattern(entry: unknown): void {
  const { name, pattern } = (entry ?? {}) as { name?: unknown; pattern?: unknown };
  if (typeof name !== 'string' || name === '') refuse('patterns', 'entries with a name', name);
  if (!isRegExp(pattern)) refuse('patterns', `a RegExp as the pattern of ${JSON.stringify(name)}`, pattern);
}

/** Also true for one from another realm, as in a test runner. */
const isRegExp = (value: unknown): value is RegExp =>
  Object.prototype.toString.call(value) === '[object RegExp]';

function refuse(option: string, expected: string, found: unknown): never {
  const shown =
    typeof found === 'string' ? JSON.stringify(found.slice(0, 40)) : `a value of type ${typeof found}`;
  throw new QuittanceError('config.invalid', `redaction.${option} takes ${expected}; found ${shown}.`);
}
