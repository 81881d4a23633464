import type { ReactNode } from 'react';
import type { BudgetBurn } from '@quittance/server/internal/http/api/stats';
import { Ago } from '../../ui/ago.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Cost } from '../../ui/cost.tsx';

/** Usage of each budget, with its share if the limit is known. */
export function BudgetList({ budgets }: { readonly budgets: readonly BudgetBurn[] }): ReactNode {
  if (budgets.length === 0)
    return (
      <p className="muted">
        No budget has been used. Set one with{' '}
        <code>{"createRuntime({ budgets: [{ scope: 'session', toolCalls: 50 }] })"}</code>.
      </p>
    );
  return (
    <ul className="ranked">
      {budgets.slice(0, 8).map((budget) => {
        const { counter, used, reserved, limit, exhaustedAt } = budget;
        const share = limit === undefined || limit === 0 ? undefined : Math.min(1, (used + reserved) / limit);
        const tone =
          exhaustedAt !== undefined || (share ?? 0) >= 1
            ? 'bad'
            : (share ?? 0) > 0.8
              ? 'attention'
              : 'active';
        return (
          <li key={counter}>
            <code className="ranked-label">
              <ForeignText text={nameOf(counter)} />
            </code>
            <span className="num">
              {amount(budget, used)}
              {limit !== undefined && <span className="muted"> of {amount(budget, limit)}</span>}
            </span>
            {share !== undefined && (
              <span className="meter" data-tone={tone} aria-hidden="true">
                <span style={{ width: `${100 * share}%` }} />
              </span>
            )}
            <span className="ranked-note muted">
              {words[budget.metric]}
              {reserved > 0 && <>, {amount(budget, reserved)} reserved</>}
              {exhaustedAt !== undefined && (
                <>
                  , exhausted <Ago at={exhaustedAt} />
                </>
              )}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

const words: Readonly<Record<BudgetBurn['metric'], string>> = {
  tool_calls: 'tool calls',
  cost_micros: 'cost',
  attempts: 'calls checked by rules',
};

const amount = ({ metric }: BudgetBurn, value: number): ReactNode =>
  metric === 'cost_micros' ? <Cost micros={value} /> : value.toLocaleString();

/** Readable name of a counter: `named/"shop"/tool_calls/2026-11-15` becomes `shop, 2026-11-15`. */
function nameOf(counter: string): string {
  const [, scope = '', name = '', , day] =
    /^(\w+)\/(.*?)\/(tool_calls|cost_micros|attempts)(?:\/(.+))?$/.exec(counter) ?? [];
  const read = name.replaceAll(/["[\]]/g, '') || counter;
  return `${scope === 'named' || scope === '' ? '' : `${scope} `}${read}${day === undefined ? '' : `, ${day}`}`;
}
