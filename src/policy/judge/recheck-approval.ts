import type { FiredRule, Ruling } from '../language/ruling.ts';

/** A rule that asked when a person approved, and what it said then. */
export type ApprovedRule = { readonly ruleId: string; readonly digest: string | undefined };

/** What to keep with an approval of these rules. */
export const approvedRules = (
  fired: readonly FiredRule[],
  digestOf: (ruleId: string) => string | undefined,
): readonly ApprovedRule[] =>
  fired.filter(({ action }) => action === 'ask').map(({ ruleId }) => ({ ruleId, digest: digestOf(ruleId) }));

/**
 * Whether an approval still counts under the rules of today, which judged the call anew. It does where they allow, or
 * ask by rules that asked then and say the same; a block denies; any other question has to be answered by a person.
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
