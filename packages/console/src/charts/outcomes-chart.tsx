/** Outcomes and execution times over time, drawn the same on every page. */
import type { ReactNode } from 'react';
import type { Stats } from '@quittance/server/internal/http/api/stats';
import { outcomeWords } from 'quittance/internal/view/outcome-words';
import { formatDuration } from '../ui/time.tsx';
import './charts.css';
import type { Series } from './time-chart.tsx';
import { TimeChart } from './time-chart.tsx';

type Props = { readonly title: string; readonly stats: Stats; readonly height?: number };

/** A press on a bar shows its calls. */
export function OutcomesChart({
  title,
  stats: { series, bucketMs },
  height = 200,
  toOf,
}: Props & { readonly toOf?: (since: number, until: number) => string }): ReactNode {
  const outcomes: readonly Series[] = [
    {
      name: outcomeWords.succeeded.label,
      color: 'var(--good)',
      values: series.map(({ succeeded }) => succeeded),
    },
    {
      name: outcomeWords.denied.label,
      color: 'var(--line-strong)',
      values: series.map(({ denied }) => denied),
    },
    {
      name: `${outcomeWords.failed.label} or ${outcomeWords.timed_out.label}`,
      color: 'var(--bad)',
      values: series.map(({ failed, timedOut }) => failed + timedOut),
    },
    {
      name: outcomeWords.indeterminate.label,
      color: 'var(--unsure)',
      values: series.map(({ indeterminate }) => indeterminate),
    },
    { name: 'open', color: 'var(--attention)', values: series.map(({ open }) => open) },
  ];
  const times = series.map(({ at }) => at);
  return (
    <TimeChart
      kind="bars"
      {...{ title, times, bucketMs, height }}
      series={outcomes}
      {...(toOf !== undefined && { toOf: (at: number) => toOf(at, at + bucketMs) })}
    />
  );
}

export function LatencyChart({ title, stats: { series, bucketMs }, height = 180 }: Props): ReactNode {
  const latencies: readonly Series[] = [
    { name: 'p50', color: 'var(--active)', values: series.map(({ p50Ms }) => p50Ms) },
    { name: 'p95', color: 'var(--unsure)', values: series.map(({ p95Ms }) => p95Ms) },
  ];
  const times = series.map(({ at }) => at);
  const format = (ms: number): string => (ms === 0 ? '0' : formatDuration(ms));
  return <TimeChart kind="lines" {...{ title, times, bucketMs, height, format }} series={latencies} />;
}
