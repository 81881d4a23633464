import { HttpRefusal } from '../problem.ts';
import { spanOf } from '../read-stats.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import { classifyTool, riskOfTool } from 'quittance/internal/tool/mode';
import type { ToolDetail, ToolRow } from '../api/tool.ts';
import { Latencies, noOutcomeCounts } from '../count-outcomes.ts';
import type { Asker } from '../reader.ts';
import type { Service } from '../service.ts';
import type { ToolNumbers } from '../tool-numbers.ts';
import { mostTools } from '../tool-numbers.ts';

export const statsRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/stats',
    access: 'viewer',
    summary:
      'Counts outcomes over time, latencies, failing tools and budgets, for all tools or one. The default is the last day.',
    query: 'StatsQuery',
    answer: 'Stats',
    handle({ service, query, ...asked }) {
      const { since, until } = spanOf(query, service.ledger.now());
      if (since >= until)
        throw new HttpRefusal(
          'http.bad_request',
          'since must be before until. Both are milliseconds since 1970.',
        );
      const { buckets = 60, toolName } = query;
      return service.reader.answer(
        'stats',
        // Defaults are filled in when the ledger is read, so that later requests share one cached answer.
        { span: { since: query.since, until: query.until, buckets, toolName }, budgets: service.budgets },
        asked,
        { isRemembered: true },
      );
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/tools',
    access: 'viewer',
    summary: 'Lists the tools of the server and of the ledger, with their numbers.',
    answer: 'ToolList',
    handle: async ({ service, ...asked }) => ({ rows: await listTools(service, asked) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/tools/{toolName}',
    access: 'viewer',
    summary: 'Shows one tool, its schema and the changes of the schema.',
    answer: 'ToolDetail',
    handle: ({ service, params, ...asked }) => readTool(service, params.toolName, asked),
  }),
];

/** The tools of the server and of the ledger, with their numbers. */

async function listTools(service: Service, asked: Asker): Promise<readonly ToolRow[]> {
  const numbers = await readNumbers(service, undefined, asked);
  const names = new Set([...service.tools.map(({ name }) => name), ...numbers.keys()]);
  return [...names].slice(0, mostTools).map((name) => toRow(service, name, numbers.get(name)));
}

async function readTool(service: Service, name: string, asked: Asker): Promise<ToolDetail> {
  const numbers = (await readNumbers(service, name, asked)).get(name);
  const tool = service.tools.find((each) => each.name === name);
  if (tool === undefined && numbers === undefined)
    throw new HttpRefusal(
      'http.not_found',
      `Neither the server nor the ledger has a tool named ${JSON.stringify(name.slice(0, 100))}. GET /v1/tools lists them.`,
    );
  return {
    tool: toRow(service, name, numbers),
    schema: tool?.input.jsonSchema,
    codes: (numbers?.codes ?? []).map(([code, count]) => ({ code, count })),
    schemas: service.schemas.versionsOf(name),
  };
}

async function readNumbers(
  { reader }: Service,
  toolName: string | undefined,
  asked: Asker,
): Promise<ReadonlyMap<string, ToolNumbers>> {
  const rows = await reader.value('tools', { toolName }, asked, { isRemembered: true });
  return new Map(rows.map((row) => [row.toolName, row]));
}

function toRow({ tools, schemas }: Service, name: string, numbers: ToolNumbers | undefined): ToolRow {
  const tool = tools.find((each) => each.name === name);
  const guess = classifyTool(name);
  const outcomes = numbers?.outcomes ?? noOutcomeCounts();
  const failures = outcomes.failed + outcomes.timedOut + outcomes.indeterminate;
  const ended = failures + outcomes.succeeded;
  return {
    name,
    known: tool !== undefined,
    description: tool?.description,
    mode: tool?.mode ?? numbers?.mode ?? guess.mode,
    modeOrigin: tool?.modeOrigin ?? guess.origin,
    risk: tool === undefined ? riskOfTool(name) : tool.risk,
    handoff: tool?.handoff ?? false,
    calls: numbers?.calls ?? 0,
    outcomes,
    errorRate: ended === 0 ? undefined : failures / ended,
    latency: numbers?.latency ?? new Latencies().toPercentiles(),
    costMicros: numbers?.costMicros ?? 0,
    schemaDigest: schemas.digestOf(name),
    drifted: schemas.hasDrifted(name),
  };
}
