/** Reads a rule that limits the paths, commands and domains that a call may name. */
import type { ClosedObject } from './document-reader.ts';
import { readAskApproval, readAskTimeout, readRuleMessage } from './read-then.ts';
import {
  actionsOf,
  allowsShape,
  chainWords,
  keysOf,
  notAllowsShape,
  olderActions,
} from '../language/rule-shape.ts';
import type { SandboxRule } from '../language/ruleset.ts';

/** Undefined if there are problems. */
export function readSandboxRule(
  rule: ClosedObject<string>,
  head: Pick<SandboxRule, 'id' | 'mode'>,
): SandboxRule | undefined {
  const tools = readTools(rule);
  const within = rule.optional('within')?.texts(1);
  const notWithin = rule.optional('not_within')?.texts(1);
  const allowsAt = rule.optional('allows');
  const allows = allowsAt?.closed(keysOf(allowsShape));
  const allowedCommands = allows?.optional('commands')?.texts(1);
  const allowedDomains = allows?.optional('domains')?.texts(1);
  const notAllows = rule.optional('not_allows')?.closed(keysOf(notAllowsShape));
  const deniedDomains = notAllows?.required('domains')?.texts(1);
  const chains = rule.optional('chains')?.oneOf(chainWords);
  const outside = rule.optional('outside')?.oneOf(actionsOf.sandbox, olderActions) ?? 'block';
  const timeout = readAskTimeout(rule);
  const approval = readAskApproval(rule, outside, timeout);
  const message = readRuleMessage(rule.required('message'));

  if (!rule.has('within') && !rule.has('allows'))
    rule.at.refuse('within and allows are both missing: a sandbox rule needs at least one of them.');
  if (allows !== undefined && !allows.has('commands') && !allows.has('domains'))
    allowsAt?.refuse('allows has neither commands nor domains; expected at least one of them.');
  if (rule.has('not_within') && !rule.has('within'))
    rule.optional('not_within')?.refuse('not_within needs within: it removes part of what within allows.');
  if (rule.has('not_allows') && !rule.has('allows'))
    rule.optional('not_allows')?.refuse('not_allows needs allows: it removes part of what allows permits.');
  else if (notAllows?.has('domains') === true && allows?.has('domains') === false)
    notAllows
      .optional('domains')
      ?.refuse('not_allows.domains needs allows.domains: it removes part of what that permits.');

  if (tools === undefined || message === undefined) return undefined;
  return {
    type: 'sandbox',
    ...head,
    message,
    tags: [],
    metadata: undefined,
    tools,
    within,
    notWithin: notWithin ?? [],
    allowedCommands,
    allowedDomains,
    deniedDomains: deniedDomains ?? [],
    chains,
    outside,
    ...timeout,
    ...(approval !== undefined && { approval }),
  };
}

function readTools(rule: ClosedObject<string>): readonly string[] | undefined {
  const one = rule.optional('tool');
  const several = rule.optional('tools');
  if (one !== undefined && several !== undefined)
    return several.refuse('tool and tools are both given; expected one of them.');
  if (several !== undefined) return several.texts(1);
  if (one === undefined) return rule.at.refuse('tool is missing: a sandbox rule needs tool or tools.');
  const name = one.text();
  return name === undefined ? undefined : [name];
}
