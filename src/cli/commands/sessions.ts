import type { SessionQuery, SessionSummary } from '../../ledger/call-query.ts';
import { filterOptions, pagingOptions, timesOf } from '../call-query.ts';
import { sessionColumns, sessionRow, sessionToJson } from '../call-columns.ts';
import type { CliCommand, Options } from '../command.ts';
import { jsonOption } from '../command.ts';
import { printList } from '../print-list.ts';

const { since, until } = filterOptions;
const timeOptions: Options = {
  ...(since && {
    since: { ...since, help: 'Only sessions in which something happened since then: 15m, 7d, 2026-10-12' },
  }),
  ...(until && { until: { ...until, help: 'Only sessions that began before then' } }),
};

export const sessionsCommand: CliCommand = {
  name: 'sessions',
  summary: 'List sessions, newest first, with how their calls ended',
  options: {
    ...timeOptions,
    text: { value: 'TEXT', help: 'Only sessions with this in their id' },
    ...pagingOptions,
    json: jsonOption,
  },
  examples: [
    ['quittance sessions --since 7d', 'the sessions of the last week'],
    ['quittance sessions --text ticket- --json', 'some of them, for a program'],
  ],
  run: (given, context) =>
    context.withLedger(given, (ledger) => {
      const now = context.now();
      return printList<SessionSummary, SessionQuery>(
        {
          ask: (query) => ledger.queries.findSessions(query),
          query: { ...timesOf(given, now), text: given.text('text') },
          columns: sessionColumns,
          toRow: (session) => sessionRow(session, now),
          toJson: sessionToJson,
          none: 'No such sessions.',
        },
        given,
        context,
      );
    }),
};
