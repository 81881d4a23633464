/**
 * Judges the end of a recorded body. It passes the current success check, rules and redactor like any other
 * body. Two things differ: it may claim any reason code, and earlier rulings that removed or withheld data
 * apply again, if the rules would still do so. That data is gone from the record, so the rules could not find
 * it.
 */
import type { RuleMark } from '../../call/event.ts';
import type { Policy } from '../../policy/judge/compile-policy.ts';
import type { AttemptEnd } from './attempt.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import { classifyThrown } from './classify-thrown.ts';
import type { AttemptFacts, Judgement } from './judgement.ts';
import { fail } from './judgement.ts';
import { spillNotice, withNote } from './spill-notice.ts';
import type { AttemptRemarks } from './attempt-remarks.ts';
import type { RecordedEnd } from './recorded-end.ts';

export type Judge = (end: AttemptEnd, facts: AttemptFacts) => Judgement | Promise<Judgement>;
export type TimeOut = (facts: AttemptFacts, retryable: boolean) => Promise<Judgement>;

/** Stays synchronous if it has nothing to wait for. */
export function judgeRecorded(
  live: ReadyCall,
  recorded: RecordedEnd,
  end: AttemptEnd,
  facts: AttemptFacts,
  judge: Judge,
  timeOut: TimeOut,
): Judgement | Promise<Judgement> {
  const { remarks } = facts;
  const marks = recallMarks(live, recorded, remarks);
  for (const failed of recorded.unkept) live.journal.apply({ type: 'fail_to_persist', ...failed });
  if (recorded.reportedAgain.length > 0) reportAgain(live, recorded.reportedAgain);
  const judged = judgeAs(live, recorded, end, facts, judge, timeOut);
  const isSpilled = recorded.unkept.some(({ keptIn }) => keptIn === 'spill');
  if (marks === undefined && !isSpilled) return judged;
  const settle = (judgement: Judgement): Judgement => {
    // The same rules ruled exactly this. Their ruling about the remaining data is not needed.
    const rules = marks ?? judgement.rules;
    if (!isSpilled) return { ...judgement, rules };
    // The model got this note last.
    return { ...judgement, rules, outcome: withNote(judgement.outcome, spillNotice) };
  };
  return judged instanceof Promise ? judged.then(settle) : settle(judged);
}

/** Runs after the call is settled. No caller waits for it. */
function reportAgain(live: ReadyCall, notes: readonly string[]): void {
  const { stragglers } = live.engine;
  const settled = live.services.replyTo(live)?.then((reply) => (reply.type === 'held' ? reply.rest : reply));
  const noted: Promise<unknown> = Promise.resolve(settled)
    .then(async () => {
      for (const details of notes)
        await live.journal.remark({ type: 'recall', how: 'replayed', fromCallId: live.callId, details });
    })
    .catch(() => undefined)
    .finally(() => stragglers.delete(noted));
  stragglers.add(noted);
}

function judgeAs(
  live: ReadyCall,
  { thrown, timeout }: RecordedEnd,
  end: AttemptEnd,
  facts: AttemptFacts,
  judge: Judge,
  timeOut: TimeOut,
): Judgement | Promise<Judgement> {
  const isThrown = end.type === 'threw' && end.error === thrown;
  if (timeout !== undefined && (isThrown || end.type === 'timed_out'))
    return timeOut({ ...facts, ...timeout }, timeout.retryable);
  if (!isThrown) return judge(end, facts);
  const { message, ...classified } = classifyThrown(thrown, 'any reason');
  return fail(
    live,
    { ...classified, error: message, shows: 'whole', isRecorded: classified.code !== 'tool.fixture_missing' },
    facts,
  );
}

/** Records the earlier rulings, and returns them if the rules are the same. */
function recallMarks(
  live: ReadyCall,
  { rules, policyVersion }: RecordedEnd,
  remarks: AttemptRemarks,
): readonly RuleMark[] | undefined {
  const { policy } = live;
  if (policy === undefined || rules.length === 0) return undefined;
  const isSame = policy.version === policyVersion;
  const standing = isSame ? rules : rules.filter((mark) => wouldTakeOutAgain(policy, mark));
  for (const { ruleId, action, message, observed } of standing)
    if (action === 'warn' && observed === undefined && !remarks.rules.some((it) => it.ruleId === ruleId))
      remarks.note(message);
  remarks.rules = standing;
  return isSame ? standing : undefined;
}

/** Does a rule with this id still redact or block? */
const wouldTakeOutAgain = ({ composed }: Policy, { ruleId, action, observed }: RuleMark): boolean =>
  observed === undefined &&
  (action === 'redact' || action === 'block') &&
  composed.rules.some(
    ({ id, rule, mode, candidate }) =>
      id === ruleId && rule.type === 'post' && rule.action === action && mode === 'enforce' && !candidate,
  );
