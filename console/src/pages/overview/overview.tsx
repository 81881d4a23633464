import type { ReactNode } from 'react';
import type { Stats } from '../../../../src/http/api/stats.ts';
import { useStats } from '../../api/use-stats.ts';
import { formatNumber } from '../../charts/scale.ts';
import { LatencyChart, OutcomesChart } from '../../charts/outcomes-chart.tsx';
import { addressOf } from '../../route.ts';
import '../../styles/overview.css';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { SpanPicker, useSpan } from '../../ui/span-picker.tsx';
import { formatCost, formatDuration } from '../../ui/time.tsx';
import { BudgetList } from './budget-list.tsx';
import { Figure } from './figure.tsx';
import { RankedList } from './ranked-list.tsx';

const firstSnippet = `import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';

const ledger = await openLedger('.quittance/ledger.db');
const hello = defineTool({ name: 'get_hello', run: () => 'hello' });
const runtime = createRuntime({ tools: [hello], ledger });
await runtime.turn({ sessionId: 's1' }).call({ id: 'c1', name: 'get_hello', arguments: {} });`;

export default function Overview(): ReactNode {
  const span = useSpan('1h');
  const stats = useStats(span?.ms);
  return (
    <>
      <PageHead title="Overview" about="Outcomes of the calls in this ledger, and calls that need a person.">
        {span && <SpanPicker span={span} />}
      </PageHead>
      {stats.error !== undefined && <Problem error={stats.error} onRetry={stats.reload} />}
      {stats.data === undefined ? (
        stats.error === undefined && <Skeleton rows={8} />
      ) : (
        <Board stats={stats.data} />
      )}
    </>
  );
}

function Board({ stats }: { readonly stats: Stats }): ReactNode {
  const { totals, now, latency } = stats;
  const ended = totals.calls - totals.open;
  if (totals.calls === 0 && now.held + now.open + now.unresolved === 0)
    return (
      <Empty title="No calls in this period" snippet={firstSnippet}>
        Calls appear here as soon as an agent makes one through this ledger. Choose a longer period above, or
        make a first call:
      </Empty>
    );
  return (
    <>
      <Figures stats={stats} />
      <Card title="Outcomes over time">
        {totals.calls === 0 ? (
          <p className="muted">No calls in this period. Choose a longer one above.</p>
        ) : (
          <OutcomesChart title="Outcomes over time" stats={stats} />
        )}
      </Card>
      <div className="grid-2">
        <Card title="Execution time">
          {latency.count === 0 ? (
            <p className="muted">No tool ran in this period.</p>
          ) : (
            <LatencyChart title="Execution time" stats={stats} />
          )}
        </Card>
        <Card title="Budgets">
          <BudgetList budgets={stats.budgets} />
        </Card>
        <Card title="Failing tools" link={<Link to="/tools">All tools</Link>}>
          <RankedList
            none="No tool failed in this period."
            rows={stats.failingTools.map(({ toolName, failures, calls, topCode }) => ({
              key: toolName,
              label: toolName,
              note: topCode,
              count: failures,
              of: calls,
              to: addressOf(['tools', toolName]),
              tone: 'bad',
            }))}
          />
        </Card>
        <Card title="Reasons for unsuccessful calls">
          <RankedList
            none={ended === 0 ? 'No call ended in this period.' : 'Every call succeeded.'}
            rows={stats.codes.map(({ code, title, count }) => ({
              key: code,
              label: code,
              note: title,
              count,
              of: ended,
              to: addressOf(['calls'], { code }),
              tone: 'quiet',
            }))}
          />
        </Card>
      </div>
    </>
  );
}

/** The key figures at the top of the page. */
function Figures({ stats: { totals, now, latency, exact } }: { readonly stats: Stats }): ReactNode {
  const ended = totals.calls - totals.open;
  const broken = totals.failed + totals.timedOut + totals.indeterminate;
  return (
    <div className="figures">
      <Figure label="Calls" value={formatNumber(totals.calls)} to="/calls" approximate={!exact} />
      <Figure
        label="Error rate"
        value={ended === 0 ? '–' : `${((100 * broken) / ended).toFixed(1)} %`}
        tone={ended === 0 ? 'quiet' : broken > 0 ? 'bad' : 'good'}
        to={addressOf(['calls'], { outcome: 'ToolFailure' })}
      />
      <Figure
        label="Awaiting approval"
        value={formatNumber(now.held)}
        tone={now.held > 0 ? 'attention' : 'quiet'}
        to="/inbox"
        approximate={!now.exact}
      />
      <Figure
        label="To reconcile"
        value={formatNumber(now.unresolved)}
        tone={now.unresolved > 0 ? 'unsure' : 'quiet'}
        to="/reconcile"
        approximate={!now.exact}
      />
      <Figure
        label="Latency p95"
        value={formatDuration(latency.p95Ms)}
        note={`p50 ${formatDuration(latency.p50Ms)}`}
      />
      <Figure label="Cost" value={formatCost(totals.costMicros)} />
    </div>
  );
}

function Card({
  title,
  link,
  children,
}: {
  readonly title: string;
  readonly link?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <section className="card">
      <header>
        <h2>{title}</h2>
        {link}
      </header>
      <div className="body">{children}</div>
    </section>
  );
}
