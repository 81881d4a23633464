/** The default-deny switch: `defaults.unlisted_tools: block` blocks calls of tools that the documents do not name. */
import { quote } from '../../base/nearest.ts';
import type { BeforeRule } from './before-rule.ts';
import type { ComposedRules } from '../language/composed-rules.ts';
import { onlyObserves } from './fire-rule.ts';
import { compileGlob } from '../regex/glob.ts';
import { toolsOfRule } from '../language/rule-tools.ts';

/** No rule of a document can have this id, because rule ids contain no dots. */
export const unlistedRuleId = 'defaults.unlisted_tools';

/** Undefined if the documents do not enable the switch. */
export function compileUnlistedTools({ unlistedTools, rules, tools }: ComposedRules): BeforeRule | undefined {
  if (unlistedTools === undefined) return undefined;
  const patterns = [
    ...tools.map(({ tool }) => tool),
    // A rule that only observes does not say what may run, and a rule about every tool names none.
    ...rules.filter((rule) => !onlyObserves(rule)).flatMap(({ rule }) => toolsOfRule(rule)),
  ].filter((pattern) => pattern !== '*');
  const globs = patterns.map((pattern) => compileGlob(pattern));
  const known = new Map<string, boolean>();
  const isListed = (toolName: string): boolean => {
    const found = known.get(toolName) ?? globs.some((glob) => glob.matches(toolName));
    // A model may invent any number of names.
    if (known.size < mostKnown) known.set(toolName, found);
    return found;
  };
  return ({ call: { toolName } }) =>
    isListed(toolName)
      ? undefined
      : {
          ruleId: unlistedRuleId,
          ruleType: 'pre',
          action: 'block',
          message: `The tool ${quote(toolName)} is not among the tools that may be called.`,
          tags: [],
          metadata: undefined,
          policyError: false,
          observed: unlistedTools.mode === 'observe',
        };
}

const mostKnown = 1_000;
