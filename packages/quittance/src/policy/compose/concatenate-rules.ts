/** Concatenates contracts. Unlike composing, this replaces nothing: the first of two rules with one id wins. */
import type { ComposedRule, ComposedRules } from '../language/composed-rules.ts';
import type { ToolFacts } from '../language/ruleset.ts';
import { joinVersions } from '../language/join-versions.ts';
import type { Workflow } from '../language/workflow.ts';

export function concatenateRules(parts: readonly ComposedRules[]): ComposedRules {
  const rules = new Map<string, ComposedRule>();
  const tools = new Map<string, ToolFacts>();
  const workflows = new Map<string, Workflow>();
  const warnings: string[] = [];
  for (const part of parts) {
    for (const rule of part.rules) {
      const first = rules.get(rule.id);
      if (first === undefined) rules.set(rule.id, rule);
      else
        warnings.push(
          `Rule ${rule.id} of ${rule.source} is ignored: ${first.source} already has a rule with that ` +
            'id, and the first one wins.',
        );
    }
    for (const facts of part.tools) {
      if (!tools.has(facts.tool)) tools.set(facts.tool, facts);
      else warnings.push(`The second entry for the tool ${facts.tool} is ignored: the first one wins.`);
    }
    for (const workflow of part.workflows) {
      if (!workflows.has(workflow.name)) workflows.set(workflow.name, workflow);
      else warnings.push(`The second workflow named ${workflow.name} is ignored: the first one wins.`);
    }
  }
  const metadata = parts.find((part) => part.metadata !== undefined)?.metadata;
  const all = [...rules.values()];
  const unlisted = parts.flatMap(({ unlistedTools }) => unlistedTools ?? []);
  return {
    rules: [...all.filter(({ candidate }) => !candidate), ...all.filter(({ candidate }) => candidate)],
    tools: [...tools.values()],
    workflows: [...workflows.values()],
    observability: parts.find(({ observability }) => observability !== undefined)?.observability,
    ...(unlisted.length > 0 && {
      unlistedTools: { mode: unlisted.some(({ mode }) => mode === 'enforce') ? 'enforce' : 'observe' },
    }),
    ...(metadata === undefined ? {} : { metadata }),
    version: joinVersions(parts.map(({ version }) => version)),
    report: {
      overridden: parts.flatMap(({ report }) => report.overridden),
      candidates: parts.flatMap(({ report }) => report.candidates),
      warnings: [...parts.flatMap(({ report }) => report.warnings), ...warnings],
    },
  };
}
