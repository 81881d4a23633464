import type { ReactNode } from 'react';
import type { Stats } from '@quittance/server/internal/http/api/stats';
import { LatencyChart } from '../../charts/outcomes-chart.tsx';
import { addressOf } from '../../route.ts';
import { Cost } from '../../ui/cost.tsx';
import { formatDuration } from '../../ui/time.tsx';
import { BudgetList } from './budget-list.tsx';
import type { CallsAddress } from './calls-address.ts';
import { Card } from './card.tsx';
import { CountOf, RankedList } from './ranked-list.tsx';

type Props = { readonly stats: Stats; readonly callsAt: CallsAddress };

/** Tools that fail, that are slow and that cost money, and the budgets. */
export function ToolCards({ stats, callsAt }: Props): ReactNode {
  const { failingTools, slowTools, costlyTools, latency, budgets } = stats;
  const slowest = Math.max(1, ...slowTools.map(({ p95Ms }) => p95Ms ?? 0));
  const dearest = Math.max(1, ...costlyTools.map(({ costMicros }) => costMicros));
  return (
    <>
      <Card title="Failing tools">
        <RankedList
          none="No tool failed in this period."
          rows={failingTools.map(({ toolName, failures, calls, topCode }) => ({
            key: toolName,
            label: toolName,
            note: topCode,
            value: <CountOf count={failures} of={calls} />,
            share: failures / calls,
            to: callsAt({ toolName, errors: 'true' }),
            tone: 'bad',
          }))}
        />
      </Card>
      <Card title="Slowest tools">
        <RankedList
          none="No tool ran in this period."
          rows={slowTools.map(({ toolName, calls, p50Ms, p95Ms }) => ({
            key: toolName,
            label: toolName,
            note: `p50 ${formatDuration(p50Ms)}, ${calls.toLocaleString()} ${calls === 1 ? 'call' : 'calls'}`,
            value: (
              <>
                {formatDuration(p95Ms)} <span className="muted">p95</span>
              </>
            ),
            share: (p95Ms ?? 0) / slowest,
            to: addressOf(['tools', toolName]),
            tone: 'active',
          }))}
        />
      </Card>
      <Card title="Execution time">
        {latency.count === 0 ? (
          <p className="muted">No tool ran in this period.</p>
        ) : (
          <LatencyChart title="Execution time" stats={stats} />
        )}
      </Card>
      <Card title="Spend and budgets">
        {costlyTools.length > 0 && (
          <RankedList
            none=""
            rows={costlyTools.slice(0, 4).map(({ toolName, calls, costMicros }) => ({
              key: toolName,
              label: toolName,
              note: `${calls.toLocaleString()} ${calls === 1 ? 'call' : 'calls'}`,
              value: <Cost micros={costMicros} />,
              share: costMicros / dearest,
              to: callsAt({ toolName }),
              tone: 'active',
            }))}
          />
        )}
        <h3 className="budgets-title">Budgets</h3>
        <BudgetList budgets={budgets} />
      </Card>
    </>
  );
}
