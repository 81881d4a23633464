import type { Histogram } from './metrics.ts';
import { buckets } from './metrics.ts';
import type { Asker } from './reader.ts';
import type { Service } from './service.ts';

/** All metrics in the text format of Prometheus. */
export async function writeMetrics(
  { followers, jobs, metrics, reader }: Service,
  asked: Asker,
): Promise<string> {
  const common = [...metrics.tools];
  const counts = await reader.value('counts', { common }, asked, { isRemembered: true });
  for (const name of counts.common) metrics.tools.add(name);
  const { merged, unresolved, costMicros, held, position } = counts;
  const lines = [
    ...family('quittance_calls_total', 'counter', 'Calls by tool, outcome and reason code.'),
    ...merged
      .filter(({ outcome }) => outcome !== '')
      .map(
        ({ toolName, outcome, code, calls }) =>
          `quittance_calls_total{tool="${toolName}",outcome="${outcome}",code="${code}"} ${calls}`,
      ),
    ...family('quittance_calls_open', 'gauge', 'Calls by tool that have no outcome yet.'),
    ...merged
      .filter(({ outcome }) => outcome === '')
      .map(({ toolName, calls }) => `quittance_calls_open{tool="${toolName}"} ${calls}`),
    ...family('quittance_calls_unresolved', 'gauge', 'Unresolved calls: their effect is unknown.'),
    `quittance_calls_unresolved ${unresolved}`,
    ...family('quittance_cost_micros_total', 'counter', 'What calls cost.'),
    `quittance_cost_micros_total ${costMicros}`,
    ...family('quittance_confirmations_pending', 'gauge', 'Questions that wait for a person, up to 1000.'),
    `quittance_confirmations_pending ${held}`,
    ...family('quittance_ledger_position', 'gauge', 'The position of the last entry.'),
    `quittance_ledger_position ${position}`,
    ...family('quittance_http_followers', 'gauge', 'Connections that follow the ledger.'),
    `quittance_http_followers ${followers.count}`,
    ...family(
      'quittance_http_followers_cut_total',
      'counter',
      'Followers cut off: they took nothing, or may not follow any more.',
    ),
    `quittance_http_followers_cut_total ${metrics.cutOff}`,
    ...family('quittance_http_jobs_running', 'gauge', 'Jobs under way.'),
    `quittance_http_jobs_running ${jobs.running}`,
    ...family('quittance_http_requests_total', 'counter', 'Requests by route and status.'),
    ...[...metrics.requests].map(([labels, count]) => `quittance_http_requests_total{${labels}} ${count}`),
    ...family('quittance_http_request_seconds', 'histogram', 'How long requests took.'),
    ...[...metrics.durations].flatMap(([labels, histogram]) => toLines(labels, histogram)),
  ];
  return `${lines.join('\n')}\n`;
}

const family = (name: string, type: string, help: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];

const toLines = (labels: string, { counts, sum, count }: Histogram): string[] => [
  ...buckets.map(
    (bound, index) => `quittance_http_request_seconds_bucket{${labels},le="${bound}"} ${counts[index] ?? 0}`,
  ),
  `quittance_http_request_seconds_bucket{${labels},le="+Inf"} ${count}`,
  `quittance_http_request_seconds_sum{${labels}} ${sum}`,
  `quittance_http_request_seconds_count{${labels}} ${count}`,
];
