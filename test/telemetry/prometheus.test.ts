/** What the server gives Prometheus, and what the dashboard and the alerts of the package ask for. */
import { readFileSync } from 'node:fs';
import { createRuntime, defineTool, ToolError } from 'quittance';
import { createHttpServer } from '@quittance/server';
import { createMemoryLedger } from 'quittance/ledger';
import { createManualClock } from 'quittance/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Family } from './exposition.ts';
import { readExposition } from './exposition.ts';

/** Made up here, so that no scanner mistakes this file for a leak. */
const secret = `sk-LEAKED${'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG'}`;
const durationsMs = [0, 1, 2, 3, 10, 11, 49, 50, 106, 107, 5_000];

let families: ReadonlyMap<string, Family>;
let page: string;
let contentType: string | null;
let stop: () => Promise<void>;

beforeAll(async () => {
  const clock = createManualClock();
  const ledger = createMemoryLedger({ clock });
  const input = z.object({ ms: z.number() });
  const tools = [
    defineTool({ name: 'waits', mode: 'read', loopLimit: 1_000, input, run: ({ ms }) => clock.advance(ms) }),
    defineTool({
      name: 'fails"\\x',
      mode: 'read',
      input,
      run: () => {
        throw new ToolError('tool.network_error', 'No.');
      },
    }),
    defineTool({ name: secret, mode: 'read', input, run: () => 1 }),
    defineTool({ name: 'asks', mode: 'local', input, run: () => 1 }),
  ];
  const runtime = createRuntime({ tools, ledger, clock });
  const server = await createHttpServer({ ledger, runtime, port: 0, localName: 'ada' });
  const turn = runtime.turn({ sessionId: 's' });
  for (const [index, ms] of durationsMs.entries())
    await turn.call({ id: `w${index}`, name: 'waits', arguments: { ms } });
  await turn.callAll(['b1', 'b2'].map((id) => ({ id, name: 'fails"\\x', arguments: { ms: 1 } })));
  await turn.call({ id: 'secret', name: secret, arguments: { ms: 1 } });
  await turn.call({ id: 'asks', name: 'asks', arguments: { ms: 1 } }, { ifHeld: 'return' });
  for (let index = 0; index < 30; index++)
    await turn.call({ id: `u${index}`, name: `invented_${index}`, arguments: { ms: 1 } });
  const authorization = `Bearer ${server.token}`;
  await server.fetch(
    new Request(`${server.url}/v1/me`, { headers: { authorization, host: new URL(server.url).host } }),
  );
  const answer = await fetch(`${server.url}/metrics`, { headers: { authorization } });
  contentType = answer.headers.get('content-type');
  page = await answer.text();
  families = readExposition(page);
  stop = async () => {
    await server.close();
    await runtime.close();
    await ledger.close();
  };
});

afterAll(() => stop());

test('durations of tools are exact histograms of the ledger, by tool and outcome', () => {
  const samples = families.get('quittance_tool_duration_seconds')?.samples ?? [];
  const waits = samples.filter(({ labels }) => labels['tool'] === 'waits');
  expect(waits.every(({ labels }) => labels['outcome'] === 'ToolExecutionResult')).toBe(true);
  for (const { labels, value } of waits.filter(({ name }) => name.endsWith('_bucket'))) {
    const bound = labels['le'] === '+Inf' ? Infinity : Number(labels['le']) * 1_000;
    expect([labels['le'], value]).toEqual([labels['le'], durationsMs.filter((ms) => ms <= bound).length]);
  }
  const sum = waits.find(({ name }) => name.endsWith('_sum'))?.value ?? 0;
  const exact = durationsMs.reduce((total, ms) => total + ms, 0) / 1_000;
  expect(Math.abs(sum - exact) / exact).toBeLessThan(0.05);
});

test('[secrets-stay-out] names are escaped and masked, and invented ones make no series', () => {
  const tools = new Set(
    [...families.values()].flatMap(({ samples }) => samples.flatMap(({ labels }) => labels['tool'] ?? [])),
  );
  expect(tools.has('(unknown)')).toBe(true);
  expect([...tools].filter((name) => name.startsWith('invented'))).toEqual([]);
  expect(tools.has('fails"\\x')).toBe(true);
  expect(page).not.toContain('LEAKED');
});

test('times of the runtime behind the server are there', () => {
  const count = (name: string): number =>
    families.get(name)?.samples.find((sample) => sample.name === `${name}_count`)?.value ?? 0;
  expect(count('quittance_commit_duration_seconds')).toBeGreaterThanOrEqual(durationsMs.length);
  expect(count('quittance_queue_duration_seconds')).toBe(2);
  expect(families.get('quittance_confirmations_pending')?.samples[0]?.value).toBe(1);
});

/** Names of metrics in an expression, with the labels that it uses. */
function usesOf(
  expression: string,
): readonly { readonly name: string; readonly labels: readonly string[] }[] {
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(/,\s*/),
  );
  return [...expression.matchAll(/\b(quittance_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', matchers = '']) => ({
      name,
      labels: [...grouped, ...[...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, each = '']) => each)],
    }),
  );
}

type Dashboard = {
  readonly templating: { readonly list: readonly { readonly query: string | { readonly query: string } }[] };
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
};
type Rules = {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: Record<string, string>;
    }[];
  }[];
};
const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const dashboard = JSON.parse(read('packages/cli/deploy/grafana-dashboard.json')) as Dashboard;
const alerts = (parse(read('packages/cli/deploy/alert-rules.yaml')) as Rules).groups.flatMap(
  ({ rules }) => rules,
);

const asked: readonly (readonly [where: string, expression: string, texts: string])[] = [
  ...dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => [title, expr, legendFormat] as const),
  ),
  ...alerts.map(
    ({ alert, expr, annotations }) => [alert, expr, Object.values(annotations).join(' ')] as const,
  ),
];

test.for(asked)('%s asks for metrics and labels that exist', ([, expression, texts]) => {
  const uses = usesOf(expression);
  expect(uses.length).toBeGreaterThan(0);
  const legend = [...texts.matchAll(/\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}/g)].map(([, each = '']) => each);
  for (const { name, labels } of uses) {
    const samples = [...families.values()]
      .flatMap((family) => family.samples)
      .filter((sample) => sample.name === name);
    expect([name, samples.length > 0]).toEqual([name, true]);
    const known = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
    expect([...labels, ...legend].filter((label) => !known.has(label))).toEqual([]);
  }
  // An alert may name only labels that its expression leaves.
  const grouped = [
    ...expression.matchAll(/^\s*(?:sum|max|histogram_quantile)[^]*?\bby \(([^)]*)\)/g),
  ].flatMap(([, list = '']) => list.split(/,\s*/));
  for (const label of legend) expect(grouped).toContain(label);
});

test('variables of the dashboard ask for metrics and labels that exist', () => {
  const asks = dashboard.templating.list
    .map(({ query }) => (typeof query === 'string' ? query : query.query))
    .filter((text) => text !== 'prometheus');
  expect(asks.length).toBeGreaterThan(0);
  for (const text of asks) {
    const [, name = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(text) ?? [];
    expect(families.get(name)?.samples.some(({ labels }) => label in labels)).toBe(true);
  }
});

test('the page has the type of the text format', () => {
  expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
});

test('the dashboard or an alert uses every metric of calls, and the docs list every metric with its labels', () => {
  const used = new Set(
    asked.flatMap(([, expression]) =>
      usesOf(expression).map(({ name }) => name.replace(/_(?:bucket|count|sum)$/, '')),
    ),
  );
  const documented = new Map(
    [...read('docs/telemetry.md').matchAll(/^\| [^|]*\| `(quittance_\w+)` \| ([^|]*)\|/gm)].map(
      ([, name = '', labels = '']) => [
        name,
        [...labels.matchAll(/`(\w+)`/g)].map(([, each = '']) => each).toSorted(),
      ],
    ),
  );
  expect([...families.keys()].filter((name) => !used.has(name))).toEqual([]);
  for (const { name, samples } of families.values()) {
    const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
    labels.delete('le');
    expect([name, documented.get(name)]).toEqual([name, [...labels].toSorted()]);
  }
  expect([...documented.keys()].filter((name) => !families.has(name))).toEqual([]);
});
