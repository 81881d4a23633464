import type { CallSummary } from '../../../../src/ledger/call-query.ts';

/** What was decided about a call, as far as its line tells: the call's own page says by whom. */
export function describeDecision({
  outcome,
  status,
  reason,
  attempts,
}: Pick<CallSummary, 'outcome' | 'status' | 'reason' | 'attempts'>): string {
  if (outcome === 'ToolDenied') return reason === undefined ? 'denied' : (denials[reason] ?? reason);
  if (attempts > 0) return 'allowed';
  switch (status) {
    case 'held':
      return 'asks a person';
    case 'approved':
      return 'approved';
    case 'running':
      return 'allowed';
    case 'requested':
      return 'not yet';
    case 'settled':
      return 'not executed';
  }
}

const denials: { readonly [Reason in NonNullable<CallSummary['reason']>]: string } = {
  duplicate: 'duplicate',
  blocked: 'tool closed',
  pre_hook: 'by a hook',
  validation: 'invalid input',
  deadline: 'too late',
  write_denied: 'by a person',
  contract: 'by a rule',
  budget: 'over budget',
  expired: 'nobody answered',
  conflict: 'conflict',
  ended: 'turn ended',
};
