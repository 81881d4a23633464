/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
/** Rulesets for tests: a valid one, and ways to break it. */
import type { JsonObject, JsonValue } from '../packages/quittance/src/base/json.ts';
import { readDocumentValue } from '../packages/quittance/src/policy/read/parse-document.ts';
import type { ReadOptions } from '../packages/quittance/src/policy/read/read-options.ts';
import type { Ruleset } from '../packages/quittance/src/policy/language/ruleset.ts';

export const preRule: JsonObject = {
  id: 'no-rm',
  type: 'pre',
  tool: 'Bash',
  when: { 'args.command': { contains: 'rm -rf' } },
  then: { action: 'block', message: 'Nothing is removed' },
};

export const sandboxRule: JsonObject = {
  id: 'stay-inside',
  type: 'sandbox',
  tools: ['Read', 'Write'],
  within: ['/project'],
  message: 'Stay in the project',
};

export const sessionRule: JsonObject = {
  id: 'few-calls',
  type: 'session',
  limits: { max_tool_calls: 10 },
  then: { action: 'block', message: 'Enough' },
};

export const rulesetOf = (rules: readonly JsonValue[], more: JsonObject = {}): JsonObject => ({
  apiVersion: 'quittance/v1',
  kind: 'Ruleset',
  metadata: { name: 'sample' },
  defaults: { mode: 'enforce' },
  rules,
  ...more,
});

/** The ruleset of a valid document. */
export function loadRuleset(value: JsonObject, source = 'sample.yaml', options?: ReadOptions): Ruleset {
  const result = readDocumentValue(value, source, options);
  if (!result.ok || result.document.kind !== 'Ruleset')
    throw new Error(JSON.stringify(result.ok ? result.document.kind : result.problems));
  return result.document.ruleset;
}

/** The problems of a document, each as `field: message`. Empty if it is valid. */
export function problemsOf(value: JsonValue, options?: ReadOptions): readonly string[] {
  const result = readDocumentValue(value, 'sample.yaml', options);
  return result.ok ? [] : result.problems.map(({ field, message }) => `${field}: ${message}`);
}
