import type { SessionQuery, SessionSummary } from 'quittance/internal/ledger/call-query';
import { filterOptions, pagingOptions, timesOf } from '../call-query.ts';
import { sessionColumns, sessionRow, sessionToJson } from '../call-columns.ts';
import type { CliCommand, Options } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import { printList } from '../print-list.ts';
import { findSessions } from 'quittance/internal/ledger/reads';

const { since, until } = filterOptions;
const timeOptions: Options = {
  ...(since && {
    since: { ...since, help: 'Only sessions active since this time: 15m, 7d, 2026-10-12' },
  }),
  ...(until && { until: { ...until, help: 'Only sessions that began before this time' } }),
};

export const sessionsCommand: CliCommand = {
  name: 'sessions',
  summary: 'List sessions, newest first, with the outcomes of their calls',
  options: {
    ...timeOptions,
    text: { value: 'TEXT', help: 'Only sessions whose id contains this text' },
    ...pagingOptions,
    json: jsonOption,
  },
  examples: [
    ['quittance sessions --since 7d', 'the sessions of the last week'],
    ['quittance sessions --text ticket- --json', 'sessions by id, for a program'],
  ],
  effect: reads,
  run: (given, context) =>
    context.withLedger(given, (ledger) => {
      const now = context.now();
      return printList<SessionSummary, SessionQuery>(
        {
          ask: (query) => findSessions(ledger, query),
          query: { ...timesOf(given, now), text: given.text('text') },
          columns: sessionColumns,
          toRow: (session) => sessionRow(session, now),
          toJson: sessionToJson,
          none: 'No sessions match.',
        },
        given,
        context,
      );
    }),
};
