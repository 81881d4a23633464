/**
 * Holds a call that needs an approval. The question is stored first. Then any person with the permission may decide, in any
 * process that shares the ledger. If a rule needs several people, the question stays open until they have approved. The
 * first of a decision, an expiry, a withdrawal and a cancellation counts. An approval skips no check.
 */
import type { Call, Confirmation } from '../call/call.ts';
import type { ActiveCall, CheckedCall, Stop } from './active-call.ts';
import { recordRuling } from './gates.ts';
import { clean } from './call-input.ts';
import { compareWithLast } from './preview.ts';
import { expiryOf, replyExpired, overtaken, settleDenied, settleStopped } from './settle.ts';
import { sealInput } from './recorded-input.ts';
import { settleEnded } from './until-decided.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { isSameJson } from '../base/same-json.ts';
import type { Ask } from '../call/events/confirmation-event.ts';
import { redacted } from '../base/secret-pattern.ts';
import type { ToolRisk } from '../tool/name-words.ts';
import type { QuietTimes } from '../base/quiet-hours.ts';
import type { ApprovalPolicy, Seat } from '../call/approval-policy.ts';

/** Stores the question. `changed`: state read by the gates has changed, so they must run again. */
export async function storeQuestion(active: CheckedCall): Promise<'stored' | 'changed' | 'overtaken'> {
  const { engine, asks, journal, input, tool, supersedes } = active;
  const found =
    journal.call?.preview === undefined ? (active.comparison ?? (await compareWithLast(active))) : 'none';
  const comparison = found === 'none' ? undefined : found;
  const mark = journal.mark();
  recordRuling(active, undefined);
  journal.apply({
    type: 'hold',
    confirmationId: engine.ids.secret('cnf'),
    description: asks.map(({ description }) => description).join(' '),
    asks: addQuietHours(asks, journal.call?.confirmation?.asks ?? [], engine.ledger.now(), engine.quietTimes),
    inputDigest: input.effective.digest,
    revision: journal.call?.preview?.revision,
    ...expiryOf(active, asks),
    risk: riskOf(active),
    schemaDigest: tool.schemaDigest,
    comparison,
    supersedes,
  });
  const sealed = sealInput(active);
  const { status } = await journal.flush(sealed === undefined ? {} : { sealed });
  if (status === 'appended') return 'stored';
  if (status !== 'moved') return 'overtaken';
  journal.rewind(mark);
  return 'changed';
}

export function questionOf({ journal, callId }: ActiveCall): Confirmation {
  const confirmation = journal.call?.confirmation;
  if (confirmation === undefined) throw new TypeError(`Call ${callId} has no open question.`);
  return confirmation;
}

/** Ends a call whose question is closed, unless it was approved. Undefined for an open question and an approved one. */
export async function endUnlessApproved(active: ActiveCall): Promise<ToolOutcome | undefined> {
  const { call } = active.journal;
  // Another process took the call over first.
  if (call?.status === 'running' || call?.status === 'settled') return overtaken(active);
  const confirmation = questionOf(active);
  if (confirmation.status === 'pending') return undefined;
  active.journal.observer?.note({ type: 'decided', decision: confirmation.status });
  switch (confirmation.status) {
    case 'approved':
      // A check denied the call after the approval, and its process died before it ended the call. The denial stays.
      return call?.ruling === 'deny' ? settleStopped(active, stoppedSince(call)) : undefined;
    case 'denied':
      return settleDenied(active, confirmation);
    case 'answered':
      return settleStopped(active, {
        type: 'deny',
        reason: 'write_denied',
        code: 'confirmation.answered',
        details: clean(active, confirmation.response ?? ''),
      });
    case 'withdrawn':
      return settleEnded(active, confirmation.reason ?? 'The question was withdrawn.');
    case 'expired':
      return replyExpired(active);
  }
}

function stoppedSince({ decidedBy }: Call): Stop & { type: 'deny' } {
  const details = `After the approval it was stopped by ${decidedBy?.name ?? 'a check'}.`;
  if (decidedBy?.type === 'rule')
    return { type: 'deny', reason: 'contract', code: 'policy.contract', details };
  if (decidedBy?.type === 'hook') return { type: 'deny', reason: 'pre_hook', code: 'policy.hook', details };
  return { type: 'deny', reason: 'expired', code: 'confirmation.expired', details };
}

/**
 * Compares the current asks with the approved ones. If the input or the preview differs from the approved one, all earlier
 * asks are repeated; otherwise only new ones count. `differs`: the schema returns another value.
 */
export function asksNow(
  { asks: now, journal }: CheckedCall,
  { asks, revision }: Confirmation,
  differs: boolean,
): { readonly all: readonly Ask[]; readonly added: readonly Ask[] } {
  const isOther = journal.call?.preview?.revision !== revision;
  if (!isOther && !differs)
    return { all: now, added: now.filter((ask) => !asks.some((known) => sameAsk(known, ask))) };
  const again = asks.filter((ask) => !isAboutChange(ask) && !now.some((other) => sameAsk(other, ask)));
  const changes: Ask[] = [
    ...(differs ? [{ by: { type: 'gate', name: 'validate' }, description: otherValue } as const] : []),
    ...(isOther ? [{ by: { type: 'gate', name: 'preview' }, description: otherPreview } as const] : []),
  ];
  const all = [...changes, ...again, ...now];
  return { all, added: all };
}

const isAboutChange = ({ by }: Ask): boolean =>
  by.type === 'gate' && (by.name === 'preview' || by.name === 'validate');

const otherPreview = 'What the tool would do has changed: see its preview.';

const otherValue = 'The tool would now get another value than the one that was approved: see its arguments.';

/** A rule's ask is the same if its digest is; any other ask, if its description is. */
const sameAsk = (left: Ask, right: Ask): boolean =>
  isSameJson(withoutTimes(left.approval) ?? null, withoutTimes(right.approval) ?? null) &&
  left.by.type === right.by.type &&
  left.by.name === right.by.name &&
  left.digest === right.digest &&
  (left.digest !== undefined || left.description === right.description);

/** The reasons why a call is risky, for the person who decides. */
function riskOf(active: CheckedCall): readonly string[] {
  const { mode, modeOrigin, risk, idempotent } = active.tool;
  const words: string[] = [];
  if (mode === 'destructive') words.push('destructive');
  if (mode === 'external') words.push('reaches outside');
  if (mode === 'local') words.push('touches this machine');
  if (risk !== undefined) words.push(riskWords[risk]);
  if (modeOrigin === 'default') words.push('unknown kind of tool');
  if (mode !== 'read' && !idempotent) words.push('cannot be repeated safely');
  if (active.asks.some(({ code }) => code === 'call.twin')) words.push('may have happened already');
  if (active.policy?.toolFacts(active.tool.name).sideEffect === 'irreversible' && mode !== 'read')
    words.push('irreversible');
  return [...words, ...whatIsHidden(active)];
}

/** The risks of a tool, as shown to people. */
const riskWords: { readonly [Risk in ToolRisk]: string } = {
  money: 'involves money',
  credentials: 'involves credentials or rights',
  sharing: 'shares with others',
  publishing: 'publishes',
  code: 'runs or changes code',
  production: 'reaches production',
};

/** The most paths that are named. The rest is counted. */
const mostNamed = 4;
const longestPath = 60;

/**
 * Values that masks hide from the person who decides. A model can repeat a recipient under a name like
 * `token`, and so have both masked. Masks in places where a secret is expected are not listed.
 */
function whatIsHidden({ input, asks, journal: { call } }: CheckedCall): readonly string[] {
  const words: string[] = [];
  const { repeated } = input.effective;
  if (repeated.length > 0) {
    const named = repeated.slice(0, mostNamed).map((path) => path.slice(0, longestPath));
    const more = repeated.length - named.length;
    const paths = `${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
    words.push(`hidden because the same value has a secret name elsewhere: ${paths}`);
  }
  if (call?.preview !== undefined && JSON.stringify(call.preview.preview).includes(redacted))
    words.push('preview is partly hidden');
  if (asks.some(({ description }) => description.includes(redacted))) words.push('question is partly hidden');
  return words;
}

/**
 * Adds the quiet hours to reminders and escalations: only waking time counts. The times are stored with the question, so
 * every process sees the same. `earlier`: asks of an earlier question of the call, which include the quiet hours already.
 */
function addQuietHours(
  asks: readonly Ask[],
  earlier: readonly Ask[],
  askedAt: number,
  quietTimes: QuietTimes,
): readonly Ask[] {
  const extend = (seconds: number): number =>
    Math.ceil((quietTimes.addWakingTime(askedAt, seconds * 1_000) - askedAt) / 1_000);
  return asks.map((ask) =>
    ask.approval === undefined || earlier.includes(ask)
      ? ask
      : { ...ask, approval: mapTimes(ask.approval, extend) },
  );
}

/** The policy without its times. Whether an approval still counts does not depend on quiet hours. */
const withoutTimes = (approval: ApprovalPolicy | undefined): ApprovalPolicy | undefined =>
  approval && mapTimes(approval, () => 1);

function mapTimes(
  { reminders, seats, ...policy }: ApprovalPolicy,
  toTime: (seconds: number) => number,
): ApprovalPolicy {
  return {
    ...policy,
    seats: seats.map(({ escalate, ...seat }): Seat =>
      escalate === undefined
        ? seat
        : { ...seat, escalate: escalate.map(({ after, ...added }) => ({ ...added, after: toTime(after) })) },
    ),
    ...(reminders !== undefined && { reminders: reminders.map(toTime) }),
  };
}
