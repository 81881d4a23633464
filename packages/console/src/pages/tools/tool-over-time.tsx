import type { ReactNode } from 'react';
import type { Stats } from '@quittance/server/internal/http/api/stats';
import { useStats } from '../../api/use-stats.ts';
import { LatencyChart, OutcomesChart } from '../../charts/outcomes-chart.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { isLongestSpan } from '../../ui/find-span.ts';
import { SpanPicker, useSpan } from '../../ui/span-picker.tsx';
import { formatDuration } from '../../ui/time.tsx';

/** Outcomes and execution times of a tool in the selected period. */
export function ToolOverTime({ toolName }: { readonly toolName: string }): ReactNode {
  const span = useSpan('24h', toolName);
  const { data, error, reload } = useStats(span?.ms, toolName);
  return (
    <section className="card" aria-labelledby="over-time">
      <header>
        <h2 id="over-time">Over time</h2>
        {span && <SpanPicker span={span} />}
      </header>
      <div className="body">
        {error !== undefined && <Problem error={error} onRetry={reload} />}
        {data === undefined ? (
          error === undefined && <Skeleton rows={5} />
        ) : (
          <Charts stats={data} canBeLonger={!isLongestSpan(span?.key)} />
        )}
      </div>
    </section>
  );
}

function Charts({ stats, canBeLonger }: { readonly stats: Stats; readonly canBeLonger: boolean }): ReactNode {
  const { totals, latency } = stats;
  if (totals.calls === 0)
    return <p className="muted">No calls in this period.{canBeLonger && ' Choose a longer one above.'}</p>;
  return (
    <>
      <div className="tool-charts">
        <div>
          <h3>
            Outcomes{' '}
            <span className="muted">
              of {totals.calls === 1 ? 'one call' : `${totals.calls.toLocaleString()} calls`}
            </span>
          </h3>
          <OutcomesChart title="Outcomes over time" stats={stats} height={180} />
        </div>
        <div>
          <h3>
            Execution time{' '}
            {latency.count > 0 && (
              <span className="muted">
                p50 {formatDuration(latency.p50Ms)}, p95 {formatDuration(latency.p95Ms)}
              </span>
            )}
          </h3>
          {latency.count === 0 ? (
            <p className="muted">The tool did not run in this period.</p>
          ) : (
            <LatencyChart title="Execution time" stats={stats} />
          )}
        </div>
      </div>
    </>
  );
}
