/** Rules written as functions. */
import { checkObject } from '../base/check-keys.ts';
import { QuittanceError } from '../base/error.ts';
import type { Awaitable, JsonObject, JsonValue } from '../base/json.ts';
import type { AfterAnswer, BeforeAnswer, CodeRule } from '../policy/language/code-rule.ts';
import { composeRules } from '../policy/compose/compose-rules.ts';
import type { PolicyCall } from '../policy/language/policy-call.ts';
import type { RuleMode } from '../policy/language/ruleset.ts';
import { sha256Hex } from '../policy/language/join-versions.ts';
import type { ContractsOptions } from './contracts-options.ts';
import { LoadedContracts } from './loaded-contracts.ts';

/** A function that judges calls of a tool: before they run, or by their result. */
export type RuleSpec = {
  readonly id: string;
  /** Exact name or glob. Default: every tool. */
  readonly tool?: string;
  readonly mode?: RuleMode;
  readonly tags?: readonly string[];
  readonly metadata?: JsonObject;
} & (
  | { readonly before: (call: PolicyCall) => Awaitable<BeforeAnswer>; readonly after?: never }
  | {
      readonly after: (call: PolicyCall, output: JsonValue) => Awaitable<AfterAnswer>;
      readonly before?: never;
    }
);

export type RulesSpec = { readonly rules: readonly RuleSpec[]; readonly name?: string };

/** Creates contracts from functions. To combine them with documents, see `contractsFromMultiple`. */
export function contracts(spec: RulesSpec, options: ContractsOptions = {}): LoadedContracts {
  checkObject('contracts', spec);
  checkObject('The second argument of contracts', options);
  const source = spec.name ?? 'rules of this program';
  if (!Array.isArray(spec.rules)) refuse('contracts takes {rules: [{id, tool, before(call) {…}}]}');
  const ids = new Set<string>();
  const rules = spec.rules.map((rule, index) => {
    const made = toCodeRule(rule, index);
    if (ids.has(made.id)) refuse(`two rules have the id "${made.id}"`);
    ids.add(made.id);
    return made;
  });
  const version = sha256Hex(
    rules.map(({ id, tool, mode, check }) => JSON.stringify([id, tool, mode, String(check)])).join('\n'),
  );
  const composed = composeRules([{ kind: 'Code', source, rules, mode: 'enforce', version }]);
  return new LoadedContracts({ composed, documents: [{ name: source, stamp: version }], files: [] }, options);
}

const knownKeys: ReadonlySet<string> = new Set(['id', 'tool', 'mode', 'tags', 'metadata', 'before', 'after']);

function toCodeRule(rule: RuleSpec, index: number): CodeRule {
  const where = `rules[${index}]`;
  if (typeof rule !== 'object' || rule === null)
    refuse(`${where} must be an object with id, tool and before or after`);
  for (const key of Object.keys(rule))
    if (!knownKeys.has(key))
      refuse(`${where} has an unknown field "${key}"; known fields are ${[...knownKeys].join(', ')}`);
  const { id, tool = '*', mode, tags = [], metadata, before, after } = rule;
  if (typeof id !== 'string' || !/^[a-z0-9][a-z0-9_-]*$/.test(id))
    refuse(`${where}.id must consist of lower-case letters, digits, "_" and "-"`);
  if (typeof tool !== 'string' || tool === '') refuse(`${where}.tool must be a name or a glob`);
  if (mode !== undefined && mode !== 'enforce' && mode !== 'observe')
    refuse(`${where}.mode must be enforce or observe`);
  const shared = { type: 'code', id, tool, mode, tags, metadata } as const;
  if (typeof before === 'function' && after === undefined)
    return { ...shared, when: 'before', check: before };
  if (typeof after === 'function' && before === undefined) return { ...shared, when: 'after', check: after };
  return refuse(`${where} needs exactly one function: before(call) or after(call, output)`);
}

function refuse(problem: string): never {
  throw new QuittanceError('config.invalid', `The rules are invalid: ${problem}.`);
}
