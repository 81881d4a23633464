/** Which targets hear about a call, by the rules of the file. */
import type { QuietTimes } from '../base/quiet-hours.ts';
import { compileGlob } from '../policy/regex/glob.ts';
import type { Notice, NoticedEvent } from './notice.ts';
import { kindOf } from './notice.ts';
import type { NoticeRule } from './notifications-settings.ts';

type NotedCall = Pick<Notice, 'kind' | 'toolName' | 'risk' | 'rules' | 'owner' | 'askedAt' | 'dueAt'>;

/** May a rule tell this target about the event? Cheap: it is asked about every end of a call. */
export function concerns(rules: readonly NoticeRule[], target: string, event: NoticedEvent): boolean {
  const kind = kindOf(event);
  return kind !== undefined && rules.some(({ on, tell }) => on.includes(kind) && tell.includes(target));
}

/** Does a rule tell this target about the call? */
export function tells(
  rules: readonly NoticeRule[],
  quietTimes: QuietTimes,
  target: string,
  facts: NotedCall,
): boolean {
  return rules.some(
    (rule) => rule.tell.includes(target) && matches(rule, facts) && isDue(rule, quietTimes, facts),
  );
}

/** Only the time outside of quiet hours counts. */
const isDue = ({ afterMs }: NoticeRule, quietTimes: QuietTimes, { askedAt, dueAt }: NotedCall): boolean =>
  afterMs === 0 || dueAt >= quietTimes.addWakingTime(askedAt, afterMs);

function matches({ on, tools, risk, rules, owners }: NoticeRule, facts: NotedCall): boolean {
  if (!on.includes(facts.kind)) return false;
  if (tools !== undefined && !tools.some((glob) => compileGlob(glob).matches(facts.toolName))) return false;
  if (risk !== undefined && !risk.some((word) => facts.risk.some((each) => hasWord(each, word))))
    return false;
  if (rules !== undefined && !rules.some((id) => facts.rules.includes(id))) return false;
  return owners === undefined || (facts.owner !== undefined && owners.includes(facts.owner));
}

const hasWord = (text: string, word: string): boolean => text.toLowerCase().includes(word.toLowerCase());
