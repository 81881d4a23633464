/**
 * Composes documents from left to right.
 *
 * 1. A later rule replaces an earlier rule with the same id, in place, and the report says so. A later rule that is
 *    disabled removes the earlier one.
 * 2. A document with `observe_alongside` adds candidates, which only observe. It changes nothing else: no default, no
 *    tool, no rule.
 */
import type { CodeRule } from '../language/code-rule.ts';
import type { ComposedRule, ComposedRules, CompositionReport } from '../language/composed-rules.ts';
import { contractsError } from '../language/contracts-problem.ts';
import { mergeToolFacts } from './merge-tool-facts.ts';
import type { ParsedDocument } from '../read/parse-document.ts';
import type { Rule, RuleMode, Ruleset } from '../language/ruleset.ts';
import { joinVersions } from '../language/join-versions.ts';
import type { Workflow } from '../language/workflow.ts';

/** A document, or a set of code rules. */
export type ContractPart =
  | ParsedDocument
  | {
      readonly kind: 'Code';
      readonly source: string;
      readonly rules: readonly CodeRule[];
      /** For rules without a mode of their own. Documents do not change it. */
      readonly mode: RuleMode;
      readonly version: string;
    };

type Report = { [Key in keyof CompositionReport]: CompositionReport[Key][number][] };

/** A rule whose default mode is not known yet. */
type Placed = Omit<ComposedRule, 'mode'> & { readonly mode: RuleMode | undefined };

/** Composes documents whose `extends` are already resolved. */
export function composeRules(parts: readonly ContractPart[]): ComposedRules {
  const report: Report = { overridden: [], candidates: [], warnings: [] };
  const placed = new Map<string, Placed>();
  const candidates = new Map<string, Placed>();
  const workflows = new Map<string, { readonly workflow: Workflow; readonly source: string }>();
  const leading: Ruleset[] = [];
  const override = (id: string, from: string, by: string): void => {
    report.overridden.push({ id, from, by });
  };
  const put = (into: Map<string, Placed>, rule: Placed): void => {
    const earlier = into.get(rule.id);
    if (earlier !== undefined) override(rule.id, earlier.source, rule.source);
    into.set(rule.id, rule);
  };

  for (const part of parts) {
    switch (part.kind) {
      case 'Workflow': {
        const { name } = part.workflow;
        const earlier = workflows.get(name);
        if (earlier !== undefined) override(name, earlier.source, part.source);
        workflows.set(name, part);
        break;
      }
      case 'Code':
        for (const rule of part.rules)
          put(placed, {
            id: rule.id,
            rule,
            mode: rule.mode ?? part.mode,
            candidate: false,
            source: part.source,
          });
        break;
      case 'Ruleset': {
        const { ruleset } = part;
        refuseUnresolved(ruleset);
        if (ruleset.observeAlongside && leading.length > 0) {
          for (const rule of ruleset.rules) {
            const candidate = place(rule, ruleset, true);
            put(candidates, candidate);
            report.candidates.push({ id: candidate.id, from: candidate.source });
          }
          break;
        }
        leading.push(ruleset);
        for (const rule of ruleset.rules) put(placed, place(rule, ruleset, false));
        for (const id of ruleset.disabled) {
          const earlier = placed.get(id);
          if (earlier === undefined) continue;
          override(id, earlier.source, ruleset.source);
          report.warnings.push(
            `${ruleset.source} disables rule ${id} of ${earlier.source} (enabled: false).`,
          );
          placed.delete(id);
        }
        break;
      }
    }
  }

  const mode = leading.at(-1)?.mode ?? 'enforce';
  report.warnings.push(...warnOfWeakerDefault(leading, placed));
  const unlisted = leading.findLast(({ unlistedTools }) => unlistedTools !== undefined)?.unlistedTools;
  return {
    rules: [...placed.values(), ...candidates.values()].map((rule) => ({ ...rule, mode: rule.mode ?? mode })),
    tools: mergeToolFacts(...leading.map(({ tools }) => tools)),
    workflows: [...workflows.values()].map(({ workflow }) => workflow),
    observability: leading.findLast(({ observability }) => observability !== undefined)?.observability,
    ...(unlisted === 'block' && { unlistedTools: { mode } }),
    ...mergeMetadata(leading),
    version: joinVersions(parts.map(versionOf)),
    report,
  };
}

function place(rule: Rule, { positions, source }: Ruleset, candidate: boolean): Placed {
  const at = positions.get(rule.id);
  return {
    id: candidate ? `${rule.id}:candidate` : rule.id,
    rule,
    mode: candidate ? 'observe' : rule.mode,
    candidate,
    source: at?.source ?? source,
    ...(at?.line === undefined ? {} : { line: at.line }),
  };
}

function mergeMetadata(rulesets: readonly Ruleset[]): Pick<ComposedRules, 'metadata'> {
  const name = rulesets.at(-1)?.name;
  if (name === undefined) return {};
  const described = rulesets.findLast(({ description }) => description !== undefined);
  return {
    metadata: {
      name,
      ...(described?.description === undefined ? {} : { description: described.description }),
    },
  };
}

/** Only here can a later document stop rules it does not name from enforcing. */
function warnOfWeakerDefault(
  rulesets: readonly Ruleset[],
  placed: ReadonlyMap<string, Placed>,
): readonly string[] {
  const last = rulesets.at(-1);
  if (last?.mode !== 'observe' || rulesets.every(({ mode }) => mode === 'observe')) return [];
  const lastIds = new Set(last.rules.map(({ id }) => id));
  const affected = [...placed.values()].filter(({ id, mode }) => mode === undefined && !lastIds.has(id));
  if (affected.length === 0) return [];
  const ids = affected.map(({ id }) => id).slice(0, 5);
  return [
    `${last.source} sets defaults.mode to observe for rules of other documents too: ${ids.join(', ')}` +
      `${affected.length > ids.length ? ` and ${affected.length - ids.length} more` : ''} only observe.`,
  ];
}

/** Without this check, missing inherited rules would go unnoticed. */
function refuseUnresolved(ruleset: Ruleset): void {
  if (ruleset.extends === undefined) return;
  throw contractsError([
    {
      source: ruleset.source,
      line: undefined,
      column: undefined,
      field: 'extends',
      message: `extends names ${JSON.stringify(ruleset.extends)}, which was not loaded.`,
    },
  ]);
}

function versionOf(part: ContractPart): string {
  switch (part.kind) {
    case 'Ruleset':
      return part.ruleset.version;
    case 'Workflow':
      return part.workflow.stamp;
    case 'Code':
      return part.version;
  }
}
