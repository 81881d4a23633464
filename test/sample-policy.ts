/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import type { JsonObject } from '../packages/quittance/src/base/json.ts';
import type { CodeRule } from '../packages/quittance/src/policy/language/code-rule.ts';
import type { Policy } from '../packages/quittance/src/policy/judge/compile-policy.ts';
import { compilePolicy } from '../packages/quittance/src/policy/judge/compile-policy.ts';
import { composeRules } from '../packages/quittance/src/policy/compose/compose-rules.ts';
import { contractsError } from '../packages/quittance/src/policy/language/contracts-problem.ts';
import { readDocumentValue } from '../packages/quittance/src/policy/read/parse-document.ts';
import type { PolicyCall, PolicyWorld } from '../packages/quittance/src/policy/language/policy-call.ts';

/** An empty world. */
export const sampleWorld = (changes: Partial<PolicyWorld> = {}): PolicyWorld => ({
  environment: 'production',
  env: () => undefined,
  realPath: (path) => path,
  workingDirectory: undefined,
  homeDirectory: undefined,
  selectors: {},
  operators: {},
  ...changes,
});

export const sampleCall = (input: JsonObject = {}, changes: Partial<PolicyCall> = {}): PolicyCall => ({
  toolName: 'Bash',
  input,
  principal: undefined,
  metadata: undefined,
  snapshot: undefined,
  resources: undefined,
  ...changes,
});

/** One document with these rules, as in YAML. */
export const documentOf = (rules: readonly JsonObject[], changes: JsonObject = {}): JsonObject => ({
  apiVersion: 'quittance/v1',
  kind: 'Ruleset',
  metadata: { name: 'sample' },
  defaults: { mode: 'enforce' },
  rules,
  ...changes,
});

/** A policy of whole documents, followed by rules in code. */
export function policyOfDocuments(
  documents: readonly JsonObject[],
  world: PolicyWorld = sampleWorld(),
  code: readonly CodeRule[] = [],
): Policy {
  const parts = documents.map((document) => {
    const result = readDocumentValue(document, 'sample.yaml', {
      operators: Object.keys(world.operators),
      selectors: Object.keys(world.selectors),
    });
    if (!result.ok) throw contractsError(result.problems);
    return result.document;
  });
  const codePart = { kind: 'Code', source: 'code', rules: code, mode: 'enforce', version: 'code' } as const;
  return compilePolicy(composeRules(code.length === 0 ? parts : [...parts, codePart]), world);
}

export const policyOf = (
  rules: readonly JsonObject[],
  world?: PolicyWorld,
  code?: readonly CodeRule[],
): Policy => policyOfDocuments(rules.length === 0 ? [] : [documentOf(rules)], world, code);

/** A pre rule about `Bash`, with `changes`. */
export const preRule = (id: string, when: JsonObject, changes: JsonObject = {}): JsonObject => ({
  id,
  type: 'pre',
  tool: 'Bash',
  when,
  then: { action: 'block', message: `${id} fired` },
  ...changes,
});

export const postRule = (
  id: string,
  action: string,
  when: JsonObject,
  changes: JsonObject = {},
): JsonObject => ({
  id,
  type: 'post',
  tool: 'Bash',
  when,
  then: { action, message: `${id} fired` },
  ...changes,
});
