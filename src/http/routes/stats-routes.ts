import type { BudgetBurn, OutcomeCounts, Percentiles, Stats } from '../api/stats.ts';
import type { SchemaVersion, ToolDetail, ToolList, ToolRow } from '../api/tool.ts';
import { modeOriginShape, modeShape } from '../call-shapes.ts';
import { listTools, readTool } from '../list-tools.ts';
import { HttpRefusal } from '../problem.ts';
import { spanOf } from '../read-stats.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import type { Fields, Shape } from '../shape.ts';
import { anyObject, choice, decimal, flag, integer, list, maybe, moment, object, text } from '../shape.ts';
import { spanFields } from './page-fields.ts';

const outcomeFields: Fields<OutcomeCounts> = {
  succeeded: integer(),
  failed: integer(),
  timedOut: integer(),
  denied: integer(),
  indeterminate: integer(),
  open: integer(),
};

const percentilesShape: Shape<Percentiles> = object<Percentiles>(
  {
    count: integer(),
    p50Ms: maybe(decimal()),
    p90Ms: maybe(decimal()),
    p95Ms: maybe(decimal()),
    p99Ms: maybe(decimal()),
  },
  'Percentiles',
);

const statsShape: Shape<Stats> = object<Stats>(
  {
    since: moment(),
    until: moment(),
    bucketMs: integer(),
    exact: flag(),
    totals: object<Stats['totals']>({ ...outcomeFields, calls: integer(), costMicros: integer() }),
    series: list(
      object<Stats['series'][number]>(
        {
          ...outcomeFields,
          at: moment(),
          calls: integer(),
          costMicros: integer(),
          p50Ms: maybe(decimal()),
          p95Ms: maybe(decimal()),
        },
        'StatsBucket',
      ),
    ),
    latency: percentilesShape,
    failingTools: list(
      object<Stats['failingTools'][number]>({
        toolName: text(),
        failures: integer(),
        calls: integer(),
        topCode: maybe(text()),
      }),
    ),
    codes: list(object<Stats['codes'][number]>({ code: text(), title: maybe(text()), count: integer() })),
    budgets: list(
      object<BudgetBurn>(
        {
          counter: text(),
          metric: choice({ tool_calls: true, cost_micros: true, attempts: true }),
          used: integer(),
          reserved: integer(),
          limit: maybe(integer()),
          exhaustedAt: maybe(moment()),
        },
        'BudgetBurn',
      ),
    ),
    now: object<Stats['now']>({
      held: integer(),
      open: integer(),
      unresolved: integer(),
      handedOff: integer(),
      exact: flag(),
    }),
  },
  'Stats',
);

const toolShape: Shape<ToolRow> = object<ToolRow>(
  {
    name: text(),
    known: flag(),
    description: maybe(text()),
    mode: modeShape,
    modeOrigin: modeOriginShape,
    handoff: flag(),
    calls: integer(),
    outcomes: object<OutcomeCounts>(outcomeFields, 'OutcomeCounts'),
    errorRate: maybe(decimal()),
    latency: percentilesShape,
    costMicros: integer(),
    schemaDigest: maybe(text()),
    drifted: flag(),
  },
  'ToolRow',
);

type StatsQuery = {
  readonly since?: number;
  readonly until?: number;
  readonly buckets?: number;
  readonly toolName?: string;
};

export const statsRoutes: readonly Route[] = [
  defineRoute<'/v1/stats', StatsQuery, undefined, Stats>({
    method: 'GET',
    path: '/v1/stats',
    access: 'viewer',
    summary:
      'Counts outcomes over time, latencies, failing tools and budgets; the last day unless told, of all tools or of one.',
    query: {
      ...spanFields,
      buckets: maybe(integer({ minimum: 1, maximum: 500 })),
      toolName: maybe(text()),
    },
    answer: statsShape,
    handle({ service, query, ...asked }) {
      const { since, until } = spanOf(query, service.ledger.now());
      if (since >= until)
        throw new HttpRefusal(
          'http.bad_request',
          'since must lie before until, both in milliseconds since 1970.',
        );
      const { buckets = 60, toolName } = query;
      return service.reader.answer(
        'stats',
        // What was left out is filled in when it is read, so that callers who ask later ask the same.
        { span: { since: query.since, until: query.until, buckets, toolName }, budgets: service.budgets },
        asked,
        { isRemembered: true },
      );
    },
  }),
  defineRoute<'/v1/tools', object, undefined, ToolList>({
    method: 'GET',
    path: '/v1/tools',
    access: 'viewer',
    summary: 'Lists tools with their numbers: those the server has, and those the ledger tells of.',
    answer: object<ToolList>({ rows: list(toolShape) }, 'ToolList'),
    handle: async ({ service, ...asked }) => ({ rows: await listTools(service, asked) }),
  }),
  defineRoute<'/v1/tools/{toolName}', object, undefined, ToolDetail>({
    method: 'GET',
    path: '/v1/tools/{toolName}',
    access: 'viewer',
    summary: 'Shows one tool, its schema and how that changed.',
    answer: object<ToolDetail>(
      {
        tool: toolShape,
        schema: maybe(anyObject()),
        codes: list(object<ToolDetail['codes'][number]>({ code: text(), count: integer() })),
        schemas: list(
          object<SchemaVersion>(
            {
              digest: text(),
              firstSeenAt: moment(),
              schema: anyObject(),
              changes: list(
                object<SchemaVersion['changes'][number]>({
                  path: text(),
                  how: choice({ added: true, removed: true, changed: true }),
                }),
              ),
            },
            'SchemaVersion',
          ),
        ),
      },
      'ToolDetail',
    ),
    handle: ({ service, params, ...asked }) => readTool(service, params.toolName, asked),
  }),
];
