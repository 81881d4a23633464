import { listConfirmations } from 'quittance/internal/runtime/decide-confirmation';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import type { ConfirmationQuery } from 'quittance/internal/ledger/call-query';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import {
  byRiskAndAge,
  confirmationColumns,
  confirmationRow,
  confirmationToJson,
  shortLength,
} from '../confirmation-columns.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { readPages } from 'quittance/internal/ledger/call-query';
import { readPageLimit } from '../page-limit.ts';
import { safeJson } from '../terminal-text.ts';
import { layOutTable } from '../table.ts';
import { readPending } from '../server/decide-on-server.ts';
import { connectTo, serverOf, serverOption } from '../server/server-client.ts';

export const pendingCommand: CliCommand = {
  name: 'pending',
  summary: 'List calls awaiting approval, riskiest first',
  about: [
    'A held call waits until a person approves, denies, edits or answers it, from any process that shares the ledger. DIGEST is the start of the digest of its arguments. REV is the revision of its preview, if the tool has one. A decision names both, so that it applies exactly to what you saw.',
  ],
  options: {
    server: serverOption,
    session: { value: 'ID', help: 'Only calls of this session' },
    tool: { value: 'NAME', help: 'Only calls of this tool' },
    limit: { value: 'N', help: 'Maximum number of calls; default: 50' },
    all: { help: 'List all calls' },
    json: jsonOption,
  },
  examples: [
    ['quittance pending', 'calls awaiting your approval'],
    ['quittance pending --tool refund --session ticket-42', 'the refunds of one session'],
    ['quittance pending --json | jq -r .confirmationId', 'the full ids, for a program'],
  ],
  effect: reads,
  async run(given, context) {
    const server = serverOf(given, context);
    if (server === undefined)
      return context.withLedger(given, async (ledger, meant) =>
        show(await readWaiting(ledger, meant, context), ledger.now(), meant, context),
      );
    const waiting = await readPending(connectTo(given, context, server), given);
    return show(waiting, context.now(), given, context);
  },
};

async function readWaiting(
  ledger: OpenLedger,
  given: Given,
  { signal }: Context,
): Promise<readonly ConfirmationView[]> {
  const waiting: ConfirmationView[] = [];
  const query: ConfirmationQuery = {
    status: 'pending',
    sessionId: given.text('session'),
    toolName: given.text('tool'),
  };
  // Read all of them, because the riskiest may be the oldest.
  for await (const { rows } of readPages(
    (asked: ConfirmationQuery) => listConfirmations({ ledger }, asked),
    query,
    Number.POSITIVE_INFINITY,
    signal,
  ))
    waiting.push(...rows.filter(({ status }) => status === 'pending'));
  return waiting;
}

async function show(
  waiting: readonly ConfirmationView[],
  now: number,
  given: Given,
  { out, err }: Context,
): Promise<ExitCode> {
  const most = readPageLimit(given);
  const shown = byRiskAndAge(waiting, now).slice(0, most);
  if (given.has('json')) for (const view of shown) await out.print(safeJson(confirmationToJson(view)));
  else if (shown.length > 0) {
    const length = shortLength(waiting);
    const rows = shown.map((view) => confirmationRow(view, now, length));
    const table = layOutTable(confirmationColumns, rows, out.width, out.paint);
    await out.print(table.heading());
    for (const row of rows) await out.print(table.line(row));
  } else await err.print('No calls await approval.');
  if (waiting.length > shown.length)
    await err.print(
      err.paint('dim', `Showing ${shown.length} of ${waiting.length}. Use --all or --limit N.`),
    );
  else if (shown.length > 0 && err.isTerminal && !given.has('json'))
    await err.print(
      err.paint('dim', 'To decide: quittance approve CONFIRMATION --by NAME, or deny, respond, edit'),
    );
  return exitCodes.good;
}
