/** Finds valid but probably unintended parts of contracts, for people who check them before use. */
import { canonicalJson } from '../../base/canonical.ts';
import type { Steps } from '../../base/steps.ts';
import { finishSteps } from '../../base/steps.ts';
import { nearestNames, quote } from '../../base/nearest.ts';
import type { CodeRule } from '../language/code-rule.ts';
import type { ComposedRule, ComposedRules } from '../language/composed-rules.ts';
import type { Expression } from '../language/expression.ts';
import { compileGlob } from '../regex/glob.ts';
import { lintExpression } from './lint-expression.ts';
import type { LintFinding, LintWarning } from '../language/lint-warning.ts';
import { defaultTimeout } from '../language/rule-shape.ts';
import { isInterpreter, isLauncher, isPlainProgram } from '../sandbox/programs.ts';
import { toolsOfRule } from '../language/rule-tools.ts';
import type { Rule } from '../language/ruleset.ts';

/** If `knownTools` lists the existing tools, tool names are checked too. */
export const lintRules = (composed: ComposedRules, knownTools?: readonly string[]): readonly LintWarning[] =>
  finishSteps(lintInSteps(composed, knownTools));

/** Like `lintRules`, but yields after each rule so that the process can do other work. */
export function* lintInSteps(
  composed: ComposedRules,
  knownTools?: readonly string[],
): Steps<readonly LintWarning[]> {
  const blocking = new Map<string, ComposedRule>();
  const ofRules: LintWarning[] = [];
  for (const each of composed.rules) {
    const findings = [
      ...lintCondition(each.rule),
      ...lintTimeout(each.rule),
      ...lintCommands(each.rule),
      ...lintShadow(each, blocking),
      ...(knownTools === undefined ? [] : lintToolNames(each.rule, knownTools)),
    ];
    for (const finding of findings)
      ofRules.push({ ...finding, ruleId: each.id, source: each.source, line: each.line });
    yield;
  }
  const ofAll = [
    ...lintDefault(composed),
    ...(knownTools === undefined ? [] : lintCoverage(composed, knownTools)),
    ...composed.report.warnings.map((message): LintFinding => ({
      code: 'composition',
      message,
      advice: 'Keep it if it is intended.',
    })),
  ];
  return [
    ...ofRules,
    ...ofAll.map((finding) => ({ ...finding, ruleId: undefined, source: undefined, line: undefined })),
  ];
}

function lintCondition(rule: Rule | CodeRule): readonly LintFinding[] {
  return rule.type === 'pre' || rule.type === 'post' ? lintExpression(rule.when) : [];
}

function lintTimeout(rule: Rule | CodeRule): readonly LintFinding[] {
  if (rule.type !== 'pre' && rule.type !== 'sandbox') return [];
  const asks = (rule.type === 'pre' ? rule.action : rule.outside) === 'ask';
  if (asks && rule.timeoutEffect === 'allow')
    return [
      {
        code: 'timeout_allows',
        message: `If no person answers within ${rule.timeoutSeconds} s, the call runs without approval.`,
        advice: 'Remove timeout_effect, or set it to block.',
      },
    ];
  if (asks || (rule.timeoutEffect === 'block' && rule.timeoutSeconds === defaultTimeout)) return [];
  return [
    {
      code: 'timeout_unused',
      message: 'The rule has a timeout but never asks, so the timeout has no effect.',
      advice:
        rule.type === 'pre' ? 'Remove the timeout, or use action: ask.' : 'Remove it, or use outside: ask.',
    },
  ];
}

/** Entries that allow less than their author may think. */
function lintCommands(rule: Rule | CodeRule): readonly LintFinding[] {
  if (rule.type !== 'sandbox') return [];
  const entries = rule.allowedCommands ?? [];
  return entries.flatMap((entry): readonly LintFinding[] => {
    const words = entry.split(/\s+/).filter((word) => word !== '');
    const [program = ''] = words;
    const finding = (message: string, advice: string): readonly LintFinding[] => [
      { code: 'narrow_command', message, advice },
    ];
    if (words.at(-1) === '*' && (words.length === 1 || isLauncher(program)))
      return finding(
        `The entry ${quote(entry)} allows nothing: ${words.length === 1 ? 'it names no program' : `${program} may run others, or is plain and needs no *`}.`,
        'List the exact words of each command you accept.',
      );
    // Next to longer entries of the same program, the short one is intended.
    const hasLonger = entries.some((other) => other.startsWith(`${program} `));
    if (words.length > 1 || isPlainProgram(program) || hasLonger) return [];
    return isInterpreter(program)
      ? finding(
          `The entry ${quote(entry)} allows nothing: ${program} alone would run whatever it reads.`,
          `List the exact words of each command you accept, e.g. ${quote(`${entry} --version`)}.`,
        )
      : finding(
          `The entry ${quote(entry)} allows this command only without arguments, because ${program} is not known to be plain.`,
          `List the exact words, or ${quote(`${entry} *`)} to accept any arguments.`,
        );
  });
}

/** If an enforced rule blocks on the same condition, only that block is ever reported. */
function lintShadow(each: ComposedRule, blocking: Map<string, ComposedRule>): readonly LintFinding[] {
  const { rule, mode, candidate } = each;
  if (rule.type !== 'pre' || candidate) return [];
  const condition = canonicalJson(toJson(rule.when));
  const earlier = blocking.get(`${rule.tool} ${condition}`) ?? blocking.get(`* ${condition}`);
  if (earlier === undefined) {
    if (rule.action === 'block' && mode === 'enforce') blocking.set(`${rule.tool} ${condition}`, each);
    return [];
  }
  return [
    {
      code: 'shadowed',
      message: `Rule ${earlier.id} blocks the same calls on the same condition, so this rule never decides.`,
      advice: 'Remove one of them.',
    },
  ];
}

/** Two conditions are the same if this JSON is the same. */
function toJson(expression: Expression): Parameters<typeof canonicalJson>[0] {
  switch (expression.type) {
    case 'leaf': {
      const { selector, operator, operand, onMissing } = expression;
      return [selector.text, operator, operand, onMissing];
    }
    case 'not':
      return { not: toJson(expression.of) };
    case 'all':
    case 'any':
      return { [expression.type]: expression.of.map(toJson) };
  }
}

function lintDefault({ rules }: ComposedRules): readonly LintFinding[] {
  const byDefault = rules.filter(
    ({ rule, mode, candidate }) => mode === 'observe' && rule.mode === undefined && !candidate,
  );
  if (byDefault.length === 0) return [];
  return [
    {
      code: 'observe_default',
      message:
        `defaults.mode is observe: ${byDefault.length} of ${rules.length} rules only observe and block ` +
        'nothing.',
      advice: 'Set defaults.mode to enforce once you have observed the rules long enough.',
    },
  ];
}

function lintToolNames(rule: Rule | CodeRule, knownTools: readonly string[]): readonly LintFinding[] {
  return toolsOfRule(rule).flatMap((pattern): readonly LintFinding[] => {
    const glob = compileGlob(pattern);
    if (pattern === '*' || knownTools.some(glob.matches)) return [];
    const [nearest] = glob.exact === undefined ? [] : nearestNames(pattern, knownTools, 1);
    return [
      {
        code: 'unknown_tool',
        message:
          glob.exact === undefined
            ? `No tool name matches ${quote(pattern)}, so the rule applies to no tool.`
            : `There is no tool named ${quote(pattern)}, so the rule applies to no tool.`,
        advice: nearest === undefined ? 'Correct the name, or remove it.' : `Did you mean ${nearest}?`,
      },
    ];
  });
}

function lintCoverage(
  { rules, unlistedTools, tools }: ComposedRules,
  knownTools: readonly string[],
): readonly LintFinding[] {
  const isDenied = unlistedTools?.mode === 'enforce';
  // A limit on the number of calls does not say what a call may do.
  const patterns = rules
    .filter(({ candidate }) => !candidate)
    .flatMap(({ rule }) => (rule.type === 'session' ? [] : toolsOfRule(rule)))
    .concat(isDenied ? tools.map(({ tool }) => tool) : [])
    .map((pattern) => compileGlob(pattern));
  const names = knownTools.filter((name) => !patterns.some((glob) => glob.matches(name)));
  if (names.length === 0) return [];
  const [which, them] =
    names.length === 1 ? [`the tool ${listOf(names)}`, 'it'] : [`the tools ${listOf(names)}`, 'them'];
  return [
    {
      code: 'uncovered_tool',
      message: isDenied
        ? `No rule or tools entry names ${which}: every call of ${them} is blocked.`
        : `No rule applies to ${which}: every call of ${them} is allowed.`,
      advice: isDenied
        ? `List ${them} under tools if calls may be made.`
        : `Add a rule for ${them} or for all tools (tool: "*"), or set defaults.unlisted_tools to block.`,
    },
  ];
}

const mostNamed = 20;

const listOf = (names: readonly string[]): string => {
  const more = names.length - mostNamed;
  return names.slice(0, mostNamed).map(quote).join(', ') + (more > 0 ? ` and ${more} more` : '');
};
