/** Applies contracts to a call and prepares their rulings for the record. */
import { sandboxMarkOf } from '../../tool/sandboxed-tool.ts';
import type { Awaitable } from '../../base/json.ts';
import type { Ask, ReservedShare, RuleMark } from '../../call/event.ts';
import type { Settlement } from '../../ledger/claims.ts';
import type { Policy, SessionCounters } from '../../policy/judge/compile-policy.ts';
import type { PolicyCall } from '../../policy/language/policy-call.ts';
import type { FiredRule, Ruling } from '../../policy/language/ruling.ts';
import { countersFrom, counterNameOf, sessionMetrics } from '../../policy/language/session-metric.ts';
import { whenReady } from '../../base/when-ready.ts';
import type { ContractShare } from '../host/budget.ts';
import { noShares } from '../host/budget.ts';
import { aside } from '../state/aside.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { EndedCall, ReadyCall } from '../state/call-stages.ts';
import { clean, cleanObject } from '../input/clean.ts';
import type { Stop } from '../state/gate.ts';
import { currentSnapshot } from '../state/recall-snapshot.ts';

export function toPolicyCall(live: ReadyCall): PolicyCall {
  const { tool, facts } = live;
  const { contracts } = live.engine;
  return {
    toolName: tool.name,
    input: live.judged,
    principal: facts.principal,
    metadata: facts.attrs,
    snapshot: currentSnapshot(live)?.snapshot,
    resources: tool.resources,
    // The executor enforces the rules of its own contracts only.
    confined: contracts !== undefined && sandboxMarkOf(tool)?.contracts === contracts,
  };
}

type CountedCall = Pick<ReadyCall, 'engine' | 'tool' | 'sessionId'>;

/** Asks every rule, including session limits, which use the counts so far. */
export function askRules(live: ReadyCall, policy: Policy): Awaitable<Ruling> {
  const call = toPolicyCall(live);
  const counted = readCounted(live, policy);
  return counted === undefined
    ? policy.judgeCall(call)
    : whenReady(counted, (counters) => policy.judgeCall(call, counters));
}

/** The counts of the session so far, or undefined if no rule uses them. */
function readCounted(live: CountedCall, policy: Policy): Awaitable<SessionCounters> | undefined {
  const { name: toolName } = live.tool;
  const metrics = [
    ...new Set([...policy.limitsFor(toolName).map(({ metric }) => metric), ...policy.countsFor(toolName)]),
  ];
  if (metrics.length === 0) return undefined;
  const names = metrics.map((metric) => counterOf(live, counterNameOf(metric, toolName)));
  return whenReady(live.engine.ledger.claims.readCounters(names), (counters) =>
    countersFrom((metric) => {
      const { used, reserved } = counters[metrics.indexOf(metric)] ?? { used: 0, reserved: 0 };
      return used + reserved;
    }),
  );
}

/**
 * The shares that the call must reserve: one for each counter, under the strictest enforced rule. A counter
 * whose rules only observe has no limit. Failures are not reserved, since no call is meant to fail: the
 * intent is refused once the limit is reached.
 */
export function contractShares(live: CountedCall, policy: Policy): readonly ContractShare[] {
  const all = policy.limitsFor(live.tool.name);
  if (all.length === 0) return noShares;
  const shares = new Map<string, ContractShare>();
  for (const limits of all) {
    const counter = counterOf(live, limits.counter);
    const isEnforced = limits.mode === 'enforce' && !limits.candidate;
    const { byEnd } = sessionMetrics[limits.metric];
    // A counter without a reservation or a limit is left to `countedByEnd`.
    if (byEnd !== undefined && !isEnforced) continue;
    const most = isEnforced ? limits.limit : Number.MAX_SAFE_INTEGER;
    const limit = byEnd === undefined ? most : most - 1;
    const metric = byEnd ?? (limits.metric === 'attempts' ? 'attempts' : 'tool_calls');
    const known = shares.get(counter);
    if (known === undefined || limit < known.limit)
      shares.set(counter, { counter, amount: byEnd === undefined ? 1 : 0, limit, metric, limits });
  }
  return [...shares.values()];
}

/** The counts that the end of the call adds, in any process. They are stored with the intent. */
export function countedByEnd(live: CountedCall, policy: Policy): readonly ReservedShare[] {
  const { name: toolName } = live.tool;
  const metrics = new Set([
    ...policy.limitsFor(toolName).map(({ metric }) => metric),
    ...policy.countsFor(toolName),
  ]);
  return [...metrics].flatMap((metric) => {
    const { byEnd } = sessionMetrics[metric];
    const counter = counterOf(live, counterNameOf(metric, toolName));
    return byEnd === undefined ? [] : [{ counter, amount: 0, metric: byEnd }];
  });
}

/** Another call took the last share, or failed, between the gate and the intent. */
export async function usedUp(
  live: ReadyCall,
  policy: Policy,
  { limits }: ContractShare,
): Promise<{ readonly stop: Stop; readonly mark: RuleMark }> {
  const fired = policy.limitFired(limits, toPolicyCall(live), await readCounted(live, policy));
  return { stop: toStop(live, fired), mark: toMark(live, fired) };
}

/** A call that is stopped after the rules judged it is counted at its end. */
export const stoppedShares = ({ policy, tool, sessionId, engine, ruled }: EndedCall): readonly Settlement[] =>
  policy === undefined || tool === undefined || ruled !== true
    ? []
    : contractShares({ engine, tool, sessionId }, policy)
        .filter(({ metric }) => metric === 'attempts')
        .map(({ counter }) => ({ counter, reserved: 0, used: 1 }));

/**
 * One counter for each counted thing, independent of the rules, so that a session keeps its counts when rules
 * change.
 */
const counterOf = ({ sessionId }: CountedCall, counter: string): string =>
  `session/${JSON.stringify(sessionId)}/contract/${counter}`;

export const toStop = (live: AcceptedCall, { ruleId, message }: FiredRule): Stop => ({
  type: 'deny',
  reason: 'contract',
  code: 'policy.contract',
  details: clean(live, message),
  by: { type: 'rule', name: ruleId },
});

export function toAsk(live: AcceptedCall, policy: Policy, fired: FiredRule): Ask {
  const digest = policy.digestOf(fired.ruleId);
  return {
    by: { type: 'rule', name: fired.ruleId },
    description: clean(live, fired.message),
    ...(digest !== undefined && { digest }),
    ...(fired.timeoutSeconds !== undefined && { timeoutSeconds: fired.timeoutSeconds }),
    ...(fired.timeoutEffect !== undefined && { timeoutEffect: fired.timeoutEffect }),
    ...(fired.approval !== undefined && { approval: fired.approval }),
  };
}

const noMarks: readonly RuleMark[] = Object.freeze([]);

/** The rules that fired, and those in observe mode that would have, for the record. */
/** The rules for the record. The mistakes of rules written as functions go into the log of the call. */
export function toMarks(
  live: AcceptedCall,
  { fired, observed }: { readonly fired: readonly FiredRule[]; readonly observed: readonly FiredRule[] },
): readonly RuleMark[] {
  if (fired.length + observed.length === 0) return noMarks;
  const rules = [...fired, ...observed];
  for (const { ruleId, mistake } of rules)
    if (mistake !== undefined) aside(live, `The rule ${ruleId} could not be applied: ${mistake}`);
  return rules.map((rule) => toMark(live, rule));
}

export function toMark(live: AcceptedCall, rule: FiredRule): RuleMark {
  return Object.freeze({
    ruleId: rule.ruleId,
    action: rule.action,
    message: clean(live, rule.message),
    ...(rule.tags.length > 0 && { tags: rule.tags }),
    ...(rule.metadata !== undefined && { metadata: cleanObject(live, rule.metadata) }),
    ...(rule.observed && { observed: true as const }),
    ...(rule.policyError && { policyError: true as const }),
  });
}
