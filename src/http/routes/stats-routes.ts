import { listTools, readTool } from '../list-tools.ts';
import { HttpRefusal } from '../problem.ts';
import { spanOf } from '../read-stats.ts';
import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';

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
