export { contracts } from './contracts/contracts.ts';
export type { RuleSpec, RulesSpec } from './contracts/contracts.ts';
export { contractsFromYaml, contractsFromYamlString } from './contracts/from-yaml.ts';
export type {
  FileContracts,
  FileOptions,
  ReloadResult,
  StringContracts,
  StringOptions,
} from './contracts/from-yaml.ts';
export { contractsFromTemplate, templateNames } from './contracts/from-template.ts';
export type { TemplateName } from './contracts/from-template.ts';
export { contractsFromMultiple } from './contracts/from-multiple.ts';
export type { ContractsOptions } from './contracts/contracts-options.ts';
export type { CallCircumstances, CallToJudge, LoadedContracts } from './contracts/loaded-contracts.ts';
export type { ContractsProblem } from './policy/language/contracts-problem.ts';
export type { CompositionReport } from './policy/language/composed-rules.ts';
export type { AfterAnswer, BeforeAnswer } from './policy/language/code-rule.ts';
export type { HostOperator, HostSelector, PolicyCall } from './policy/language/policy-call.ts';
export type { SessionCounters, ToolEnd } from './policy/judge/compile-policy.ts';
export type {
  CallExplanation,
  LeafExplanation,
  RuleExplanation,
  WorkflowExplanation,
} from './policy/judge/explain-call.ts';
export type { ResourceExplanation } from './policy/sandbox/explain-sandbox.ts';
export type { FiredRule, OutputRuling, Ruling } from './policy/language/ruling.ts';
export { mergeAsks, timeoutDecision } from './policy/language/ruling.ts';
export { approvedRules, recheckApproval } from './policy/judge/recheck-approval.ts';
export type { ApprovedRule } from './policy/judge/recheck-approval.ts';
export type { RuleMode } from './policy/language/ruleset.ts';
export type { KnownTool, LintWarning } from './policy/language/lint-warning.ts';
export type { ToolEvidence } from './policy/workflow/evidence-sources.ts';
export { eventsToActionWords, toActionWords } from './policy/judge/action-words.ts';
export type { ActionRecord, ActionWord, PolicyStep } from './policy/judge/action-words.ts';
export { backtest } from './replay/backtest.ts';
export type { BacktestOptions, BacktestSlice } from './replay/backtest.ts';
export type {
  BacktestChange,
  BacktestReport,
  BacktestRule,
  BacktestSample,
} from './replay/backtest-report.ts';
