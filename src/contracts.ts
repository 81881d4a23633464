export { contracts } from './contracts/from-rules.ts';
export type { RuleSpec, RulesSpec } from './contracts/from-rules.ts';
export { contractsFromYaml, contractsFromYamlString } from './contracts/from-yaml.ts';
export type {
  FileContracts,
  FileOptions,
  ReloadResult,
  StringContracts,
  StringOptions,
} from './contracts/from-yaml.ts';
export { contractsFromTemplate, templateNames } from './contracts/from-template.ts';
export type { TemplateName } from './contracts/template-documents.ts';
export { composeContracts, contractsFromMultiple } from './contracts/from-multiple.ts';
export type { ContractsOptions } from './contracts/contracts-options.ts';
export type { CallCircumstances, CallToJudge, LoadedContracts } from './contracts/loaded-contracts.ts';
export type { ContractsProblem } from './policy/contracts-problem.ts';
export type { CompositionReport } from './policy/composed-rules.ts';
export type { AfterAnswer, BeforeAnswer } from './policy/code-rule.ts';
export type { HostOperator, HostSelector, PolicyCall } from './policy/policy-call.ts';
export type { SessionCounters, ToolEnd } from './policy/compile-policy.ts';
export type {
  CallExplanation,
  LeafExplanation,
  RuleExplanation,
  WorkflowExplanation,
} from './policy/explain-call.ts';
export type { ResourceExplanation } from './policy/explain-sandbox.ts';
export type { FiredRule, OutputRuling, Ruling } from './policy/ruling.ts';
export { mergeAsks, timeoutDecision } from './policy/ruling.ts';
export { approvedRules, recheckApproval } from './policy/recheck-approval.ts';
export type { ApprovedRule } from './policy/recheck-approval.ts';
export type { RuleMode } from './policy/ruleset.ts';
export type { LintWarning } from './policy/lint-warning.ts';
export type { ToolEvidence } from './policy/workflow-evidence.ts';
export { eventsToActionWords, toActionWords } from './policy/action-words.ts';
export type { ActionRecord, ActionWord, PolicyStep } from './policy/action-words.ts';
export { backtest } from './replay/backtest.ts';
export type { BacktestOptions, BacktestSlice } from './replay/backtest.ts';
export type {
  BacktestChange,
  BacktestReport,
  BacktestRule,
  BacktestSample,
} from './replay/backtest-report.ts';
