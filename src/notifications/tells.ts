/** Which targets are told about a call, by the rules of the file. */
import { compileGlob } from '../policy/regex/glob.ts';
import type { Notification } from './notification.ts';
import type { NoticeRule } from './notifications-settings.ts';

export type CallFacts = Pick<Notification, 'kind' | 'toolName' | 'risk' | 'rules' | 'owner'>;

/** Does a rule tell this target about the call? */
export function tells(rules: readonly NoticeRule[], target: string, facts: CallFacts): boolean {
  return rules.some((rule) => rule.tell.includes(target) && matches(rule, facts));
}

function matches({ on, tools, risk, rules, owners }: NoticeRule, facts: CallFacts): boolean {
  if (!on.includes(facts.kind)) return false;
  if (tools !== undefined && !tools.some((glob) => compileGlob(glob).matches(facts.toolName))) return false;
  if (risk !== undefined && !risk.some((word) => facts.risk.some((each) => hasWord(each, word))))
    return false;
  if (rules !== undefined && !rules.some((id) => facts.rules.includes(id))) return false;
  return owners === undefined || (facts.owner !== undefined && owners.includes(facts.owner));
}

const hasWord = (text: string, word: string): boolean => text.toLowerCase().includes(word.toLowerCase());
