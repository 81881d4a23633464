/** Joins the rules in force with their recent hits, and lists hits of rules no longer in force. */
import type { RuleHit, RuleHits, RuleInForce } from '@quittance/server/internal/http/api/contract';

export type RuleWithHits = {
  readonly rule: RuleInForce;
  readonly hit: RuleHit | undefined;
  /** All calls that it denied. */
  readonly denied: number;
};

export function joinHits(
  rules: readonly RuleInForce[],
  hits: RuleHits | undefined,
): { readonly rules: readonly RuleWithHits[]; readonly others: readonly RuleHit[] } {
  const byId = new Map(hits?.rules.map((hit) => [hit.ruleId, hit]));
  const denied = new Map(hits?.denials.map(({ ruleId, calls }) => [ruleId, calls]));
  const inForce = new Set(rules.map(({ ruleId }) => ruleId));
  return {
    rules: rules.map((rule) => ({ rule, hit: byId.get(rule.ruleId), denied: denied.get(rule.ruleId) ?? 0 })),
    others: hits?.rules.filter(({ ruleId }) => !inForce.has(ruleId)) ?? [],
  };
}

export function findRules(rows: readonly RuleWithHits[], search: string): readonly RuleWithHits[] {
  const wanted = search.trim().toLowerCase();
  return wanted === ''
    ? rows
    : rows.filter(({ rule: { ruleId, tool = '', message = '', action = '', type, mode, tags } }) =>
        [ruleId, tool, message, action, type, mode, ...tags].some((text) =>
          text.toLowerCase().includes(wanted),
        ),
      );
}
