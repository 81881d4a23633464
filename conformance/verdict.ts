/** The decision on a call of a ruleset case, from either source. */
import type { FiredRule } from 'quittance/contracts';
import type { Data, Problems } from './case.ts';
import { holds, listAt, own, show, textAt, unknownKeys } from './case.ts';

export type Verdict = {
  readonly verdict: 'allowed' | 'denied' | 'warned' | 'redacted';
  /** Message of the deciding rule, with the result of the approval if there was one. */
  readonly message: string | undefined;
  readonly tags: readonly string[];
  /** An observing rule would have stopped the call or withheld its output. */
  readonly observed: boolean;
};

export type Fired = Pick<FiredRule, 'action' | 'message'> & { readonly tags?: readonly string[] | undefined };

/** The decision of people on a held call. The default is approved. */
export type Approval = 'approved' | 'rejected' | 'pending' | 'expired';

export function approvalOf(data: Data): Approval {
  if (own(data, 'approval_pending') === true) return 'pending';
  if (own(data, 'timeout_expired') === true) return 'expired';
  const decision = own(data, 'approval_decision');
  if (decision === undefined || decision === null || decision === 'approved') return 'approved';
  if (decision === 'rejected') return 'rejected';
  throw new Error(`approval_decision is ${show(decision)}; supported: approved and rejected`);
}

const words: Readonly<Record<Exclude<Approval, 'approved'>, string>> = {
  pending: 'awaits approval',
  rejected: 'approval rejected',
  expired: 'no approval in time',
};

/** A call that was not approved. */
export const unapproved = (
  asked: Fired | undefined,
  approval: Exclude<Approval, 'approved'>,
  observed: boolean,
): Verdict => ({
  verdict: 'denied',
  message: `${asked?.message ?? ''} (${words[approval]})`,
  tags: asked?.tags ?? [],
  observed,
});

const verdictBy = { block: 'denied', redact: 'redacted', warn: 'warned' } as const;

/** The decision of rules on an output: the strongest one counts. */
export function verdictOfOutput(fired: readonly Fired[], observed: boolean): Verdict {
  for (const action of ['block', 'redact', 'warn'] as const) {
    const decidedBy = fired.find((rule) => rule.action === action);
    if (decidedBy !== undefined)
      return {
        verdict: verdictBy[action],
        message: decidedBy.message,
        tags: decidedBy.tags ?? [],
        observed,
      };
  }
  return { verdict: 'allowed', message: undefined, tags: [], observed };
}

/** Compares a verdict with the expected one. */
export function checkVerdict(expected: Data, found: Verdict, by: string): Problems {
  const problems = [
    ...unknownKeys(expected, ['verdict', 'message_contains', 'tags', 'audit_action'], 'expected'),
  ];
  const verdict = own(expected, 'verdict');
  if (verdict !== found.verdict)
    problems.push(`${by}: expected verdict ${show(verdict)}, got ${found.verdict} (${show(found.message)})`);
  const part = textAt(expected, 'message_contains');
  if (part !== undefined && !holds(found.message, part))
    problems.push(`${by}: expected a message that contains ${show(part)}, got ${show(found.message)}`);
  const missing = listAt(expected, 'tags').filter((tag) => !found.tags.some((known) => known === tag));
  if (missing.length > 0)
    problems.push(`${by}: expected the tags ${show(listAt(expected, 'tags'))}, got ${show(found.tags)}`);
  const action = own(expected, 'audit_action');
  if (action === 'observed' && !found.observed)
    problems.push(`${by}: expected a record that a rule would have blocked, got none`);
  else if (action !== undefined && action !== 'observed')
    problems.push(
      `expected audit_action ${show(action)}, which this runner cannot check; it supports observed`,
    );
  return problems;
}
