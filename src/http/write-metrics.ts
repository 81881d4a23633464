import type { Histogram } from './metrics.ts';
import { buckets } from './metrics.ts';
import type { Service } from './service.ts';

/** Everything there is to count, as Prometheus reads it. */
export async function writeMetrics({ ledger, followers, jobs, metrics }: Service): Promise<string> {
  const [tallies, held, position] = await Promise.all([
    ledger.tallyCalls({ by: ['toolName', 'outcome', 'code'] }),
    ledger.queryConfirmations({ status: 'pending', limit: 1_000 }),
    ledger.lastPosition(),
  ]);
  const merged = mergeTools(tallies, metrics.tools);
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
    ...family('quittance_calls_unresolved', 'gauge', 'Calls whose effect is in doubt.'),
    `quittance_calls_unresolved ${tallies.reduce((sum, each) => sum + each.unresolved, 0)}`,
    ...family('quittance_cost_micros_total', 'counter', 'What calls cost.'),
    `quittance_cost_micros_total ${tallies.reduce((sum, each) => sum + each.costMicros, 0)}`,
    ...family('quittance_confirmations_pending', 'gauge', 'Questions that wait for a person, up to 1000.'),
    `quittance_confirmations_pending ${held.rows.length}`,
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

type ToolTally = {
  readonly toolName: string;
  readonly outcome: string;
  readonly code: string;
  readonly calls: number;
};

/**
 * A model may ask for any name it likes; names beyond the commonest are counted together. A name that has a count of its
 * own keeps it, and no other gets one in its place: what is a counter never shrinks.
 */
function mergeTools(tallies: readonly ToolTally[], common: Set<string>): readonly ToolTally[] {
  const byTool = new Map<string, number>();
  for (const { toolName, calls } of tallies) byTool.set(toolName, (byTool.get(toolName) ?? 0) + calls);
  for (const [name] of [...byTool].toSorted(([, one], [, other]) => other - one)) {
    if (common.size >= mostTools) break;
    common.add(name);
  }
  const merged = new Map<string, ToolTally>();
  for (const tally of tallies) {
    // As it is written, so that two names that are written alike are counted as one: a label twice is no page at all.
    const toolName = common.has(tally.toolName) ? escape(tally.toolName) : '(others)';
    const outcome = escape(tally.outcome);
    const code = outcome === '' ? '' : escape(tally.code);
    const key = JSON.stringify([toolName, outcome, code]);
    merged.set(key, { toolName, outcome, code, calls: tally.calls + (merged.get(key)?.calls ?? 0) });
  }
  return [...merged.values()];
}

const mostTools = 200;

/** As the text format wants it; control characters would end a line in some readers. */
const escape = (text: string): string =>
  text
    .slice(0, 200)
    .toWellFormed()
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll(/[\p{Cc}\u2028\u2029]/gu, '\uFFFD');
