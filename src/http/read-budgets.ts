/** Usage of budgets: those of the server, and those that the newest calls drew on. */
import type { BoundedReads } from './bounded-reads.ts';
import type { Budget, BudgetRule } from '../runtime/host/budget.ts';
import { bindBudgets } from '../runtime/host/budget.ts';
import type { BudgetBurn } from './api/stats.ts';

const mostBudgets = 50;
const newestCalls = 100;

export async function readBudgets(
  reads: BoundedReads,
  rules: readonly BudgetRule[],
): Promise<readonly BudgetBurn[]> {
  const { ledger } = reads;
  const known = bindBudgets(rules, '', '');
  const today = new Date(ledger.now()).toISOString().slice(0, 10);
  const drawn = new Map<string, BudgetBurn['metric']>();
  for (const { counter, metric, perDay, scope } of known)
    if (scope !== 'turn' && scope !== 'session') drawn.set(perDay ? `${counter}/${today}` : counter, metric);
  const spent = new Map<string, BudgetBurn>();
  const { rows } = await ledger.queries.findCalls({ limit: newestCalls });
  for (const stored of await reads.calls(rows))
    for (const event of stored === 'large' || stored === undefined ? [] : stored.events) {
      if (event.type === 'tool.started')
        for (const { counter, metric } of event.reserved)
          if (drawn.size < mostBudgets && metric !== 'failures' && metric !== 'consecutive_failures')
            drawn.set(counter, metric);
      if (event.type === 'runtime.budget_exhausted' && !spent.has(event.scope)) {
        const { scope, metric, used, limit, at } = event;
        spent.set(scope, { counter: scope, metric, used, reserved: 0, limit, exhaustedAt: at });
      }
    }
  const names = [...drawn];
  const counters = await ledger.claims.readCounters(names.map(([counter]) => counter));
  return [
    ...spent.values(),
    ...names.map(([counter, metric], index) => ({
      counter,
      metric,
      ...(counters[index] ?? { used: 0, reserved: 0 }),
      limit: limitOf(counter, metric, known),
      exhaustedAt: undefined,
    })),
  ];
}

/** The lowest limit of any rule for a counter. */
function limitOf(
  counter: string,
  metric: BudgetBurn['metric'],
  known: readonly Budget[],
): number | undefined {
  const limits = known
    .filter((budget) => budget.metric === metric && isOf(counter, budget))
    .map(({ limit }) => limit);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

function isOf(counter: string, { counter: name, scope, metric, perDay }: Budget): boolean {
  const bare = counter.replace(/\/\d{4}-\d\d-\d\d$/, '');
  if ((bare !== counter) !== perDay) return false;
  // Each session and each turn has its own counter.
  return scope === 'session' || scope === 'turn'
    ? bare.startsWith(`${scope}/`) && bare.endsWith(`/${metric}`)
    : bare === name;
}
