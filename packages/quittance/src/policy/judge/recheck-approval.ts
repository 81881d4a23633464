import type { FiredRule, Ruling } from '../language/ruling.ts';

/** A rule that asked when a person approved, with its digest at that time. */
export type ApprovedRule = { readonly ruleId: string; readonly digest: string | undefined };

/** The rules to store with an approval. */
export const approvedRules = (
  fired: readonly FiredRule[],
  digestOf: (ruleId: string) => string | undefined,
): readonly ApprovedRule[] =>
  fired.filter(({ action }) => action === 'ask').map(({ ruleId }) => ({ ruleId, digest: digestOf(ruleId) }));

/**
 * Does an approval still count under the current rules, which judged the call again? It counts if they allow the
 * call, or if only rules ask that asked then and have not changed. A block denies the call. Any other ask needs a new
 * answer from a person.
 */
export function recheckApproval(
  approved: readonly ApprovedRule[],
  ruling: Ruling,
  digestOf: (ruleId: string) => string | undefined,
): 'run' | 'deny' | 'ask' {
  if (ruling.decision === 'block') return 'deny';
  const digests = new Map(approved.map(({ ruleId, digest }) => [ruleId, digest]));
  const isAnswered = ({ ruleId, action }: FiredRule): boolean => {
    const digest = digests.get(ruleId);
    return action !== 'ask' || (digest !== undefined && digest === digestOf(ruleId));
  };
  return ruling.fired.every(isAnswered) ? 'run' : 'ask';
}
