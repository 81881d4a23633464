import type { CallSummary } from 'quittance/internal/ledger/call-query';

/** The decision about a call, for its row. The call's page names the decider. */
export function describeDecision({
  outcome,
  status,
  reason,
  attempts,
  ruleId,
}: Pick<CallSummary, 'outcome' | 'status' | 'reason' | 'attempts' | 'ruleId'>): string {
  if (outcome === 'ToolDenied') {
    // The name of the rule follows.
    if (reason === 'contract' && ruleId !== undefined) return 'rule';
    return reason === undefined ? 'denied' : (denials[reason] ?? reason);
  }
  if (attempts > 0) return 'allowed';
  switch (status) {
    case 'held':
      return 'needs approval';
    case 'approved':
      return 'approved';
    case 'running':
      return 'allowed';
    case 'requested':
      return 'pending';
    case 'settled':
      return 'not executed';
  }
}

const denials: { readonly [Reason in NonNullable<CallSummary['reason']>]: string } = {
  duplicate: 'duplicate',
  blocked: 'tool blocked',
  pre_hook: 'by a hook',
  validation: 'invalid input',
  deadline: 'deadline passed',
  write_denied: 'by a person',
  contract: 'by a rule',
  budget: 'over budget',
  expired: 'expired',
  conflict: 'conflict',
  ended: 'turn ended',
};
