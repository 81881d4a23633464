import { shownIdBy } from '../base/safe-id.ts';
import { toolBounds } from '../call/tool-bounds.ts';
import type { Histogram } from './metrics.ts';
import type { Asker } from './reader.ts';
import type { Service } from './service.ts';

/** All metrics in the text format of Prometheus. */
export async function writeMetrics(
  { followers, jobs, metrics, reader, runtime }: Service,
  asked: Asker,
): Promise<string> {
  const common = [...metrics.tools];
  const counts = await reader.value('counts', { common }, asked, { isRemembered: true });
  for (const name of counts.common) metrics.tools.add(name);
  const { unresolved, costMicros, held, position } = counts;
  // The thread that counts knows the built-in patterns only.
  const hide = <Row extends { readonly toolName: string }>(row: Row): Row => ({
    ...row,
    toolName: shownIdBy(runtime.redactor, row.toolName),
  });
  const [merged, durations] = [counts.merged.map(hide), counts.durations.map(hide)];
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
    ...family(
      'quittance_tool_duration_seconds',
      'histogram',
      'How long tools ran, by tool and outcome. The sum is within five percent.',
    ),
    ...durations.flatMap(({ toolName, outcome, ...found }) =>
      toLines('quittance_tool_duration_seconds', `tool="${toolName}",outcome="${outcome}"`, {
        bounds: toolBounds,
        ...found,
      }),
    ),
    ...family('quittance_calls_unresolved', 'gauge', 'Unresolved calls: their effect is unknown.'),
    `quittance_calls_unresolved ${unresolved}`,
    ...family('quittance_cost_micros_total', 'counter', 'What calls cost.'),
    `quittance_cost_micros_total ${costMicros}`,
    ...family('quittance_confirmations_pending', 'gauge', 'Questions that wait for a person, up to 1000.'),
    `quittance_confirmations_pending ${held}`,
    ...family('quittance_ledger_position', 'gauge', 'The position of the last entry.'),
    `quittance_ledger_position ${position}`,
    ...family(
      'quittance_commit_duration_seconds',
      'histogram',
      'How long the ledger took to store an entry of this process.',
    ),
    ...toLines('quittance_commit_duration_seconds', '', metrics.times.commit),
    ...family(
      'quittance_queue_duration_seconds',
      'histogram',
      'How long calls of a batch of this process waited for their turn.',
    ),
    ...toLines('quittance_queue_duration_seconds', '', metrics.times.queue),
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
    ...[...metrics.durations].flatMap(([labels, histogram]) =>
      toLines('quittance_http_request_seconds', labels, histogram),
    ),
  ];
  return `${lines.join('\n')}\n`;
}

const family = (name: string, type: string, help: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];

type Written = Omit<Histogram, 'counts'> & { readonly counts: readonly number[] };

function toLines(name: string, labels: string, { bounds, counts, sum, count }: Written): string[] {
  const before = labels === '' ? '' : `${labels},`;
  const braced = labels === '' ? '' : `{${labels}}`;
  return [
    ...bounds.map((bound, index) => `${name}_bucket{${before}le="${bound}"} ${counts[index] ?? 0}`),
    `${name}_bucket{${before}le="+Inf"} ${count}`,
    `${name}_sum${braced} ${sum}`,
    `${name}_count${braced} ${count}`,
  ];
}
