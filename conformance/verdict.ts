/** What was decided about a call of a ruleset case, whichever way it was asked for. */
import type { FiredRule } from 'quittance/contracts';
import type { Data, Problems } from './case.ts';
import { holds, listAt, own, show, textAt, unknownKeys } from './case.ts';

export type Verdict = {
  readonly verdict: 'allowed' | 'denied' | 'warned' | 'redacted';
  /** Of the rule that decided, with what became of the approval where one was asked for. */
  readonly message: string | undefined;
  readonly tags: readonly string[];
  /** A rule that only observes would have stopped the call, or kept back what came of it. */
  readonly observed: boolean;
};

export type Fired = Pick<FiredRule, 'action' | 'message'> & { readonly tags?: readonly string[] | undefined };

/** What people did about a call that was asked about. A case that says nothing has it approved. */
export type Approval = 'approved' | 'rejected' | 'pending' | 'expired';

export function approvalOf(data: Data): Approval {
  if (own(data, 'approval_pending') === true) return 'pending';
  if (own(data, 'timeout_expired') === true) return 'expired';
  const decision = own(data, 'approval_decision');
  if (decision === undefined || decision === null || decision === 'approved') return 'approved';
  if (decision === 'rejected') return 'rejected';
  throw new Error(`approval_decision is ${show(decision)}; known are approved and rejected`);
}

const words: Readonly<Record<Exclude<Approval, 'approved'>, string>> = {
  pending: 'waits for approval',
  rejected: 'approval rejected',
  expired: 'no approval in time',
};

/** A call nobody said yes to. */
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

/** What rules about a result make of it: the strongest decides. */
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

/** Holds a verdict against what a case expects. */
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
    problems.push(`expected audit_action ${show(action)}, which this runner cannot check; it knows observed`);
  return problems;
}
