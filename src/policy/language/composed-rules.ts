/** Documents put together: parents before children, later documents over earlier ones. Nothing compiled yet. */
import type { JsonObject } from '../../base/json.ts';
import type { CodeRule } from './code-rule.ts';
import type { Rule, RuleMode, ToolFacts } from './ruleset.ts';
import type { Workflow } from './workflow.ts';

export type ComposedRules = {
  /** In the order they are evaluated; candidates after all others. */
  readonly rules: readonly ComposedRule[];
  readonly tools: readonly ToolFacts[];
  readonly workflows: readonly Workflow[];
  readonly observability: JsonObject | undefined;
  /** Whether calls of tools that nothing here names are blocked, and in which mode. Absent: they are allowed. */
  readonly unlistedTools?: { readonly mode: RuleMode };
  /** Of all documents, later ones over earlier ones. */
  readonly metadata?: { readonly name: string; readonly description?: string };
  /** sha256 of the only document, or over the stamps of several joined by `:`. */
  readonly version: string;
  readonly report: CompositionReport;
};

export type ComposedRule = {
  /** A candidate's id ends in `:candidate`. */
  readonly id: string;
  readonly rule: Rule | CodeRule;
  readonly mode: RuleMode;
  readonly candidate: boolean;
  /** The document it stands in. */
  readonly source: string;
  /** Where in it, from 1; absent for rules that are code. */
  readonly line?: number;
};

export type CompositionReport = {
  readonly overridden: readonly {
    readonly id: string;
    readonly from: string;
    readonly by: string;
  }[];
  readonly candidates: readonly { readonly id: string; readonly from: string }[];
  /** Things worth knowing that stop nothing, e.g. a duplicate that was left out. */
  readonly warnings: readonly string[];
};
