/** Composed documents: parents before children, later documents over earlier ones. Nothing is compiled yet. */
import type { JsonObject } from '../../base/json.ts';
import type { CodeRule } from './code-rule.ts';
import type { Rule, RuleMode, ToolFacts } from './ruleset.ts';
import type { Workflow } from './workflow.ts';

export type ComposedRules = {
  /** In evaluation order; candidates come last. */
  readonly rules: readonly ComposedRule[];
  readonly tools: readonly ToolFacts[];
  readonly workflows: readonly Workflow[];
  readonly observability: JsonObject | undefined;
  /** Mode in which calls of unlisted tools are blocked. Absent: they are allowed. */
  readonly unlistedTools?: { readonly mode: RuleMode };
  /** Merged from all documents; later ones override earlier ones. */
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
  /** The document that contains it. */
  readonly source: string;
  /** Line in the document, from 1; absent for code rules. */
  readonly line?: number;
};

export type CompositionReport = {
  readonly overridden: readonly {
    readonly id: string;
    readonly from: string;
    readonly by: string;
  }[];
  readonly candidates: readonly { readonly id: string; readonly from: string }[];
  /** Remarks that stop nothing, e.g. about an ignored duplicate. */
  readonly warnings: readonly string[];
};
