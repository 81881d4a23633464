import { isQuittanceError } from 'quittance/internal/base/error';
import type { Head } from 'quittance/internal/ledger/chain';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { RemovalReason } from 'quittance/internal/ledger/removal';
import { refuseUnresolved } from 'quittance/internal/ledger/removal';
import { checkOutputFile } from '../check-output-file.ts';
import type { Context, CliCommand, Given } from '../command.ts';
import { makes } from '../command.ts';
import { proofOptions, readSecret } from '../proof.ts';
import { readRemovalReason, removalEffect } from '../removal-reason.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { parseMoment } from '../time-text.ts';
import { shellWord } from '../find-call.ts';
import { terminalId } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import { verifyExport } from '../verify-export.ts';
import { chooseHeads, exportTo } from './export.ts';
import { findSessions, readHeads } from 'quittance/internal/ledger/reads';

const sessionsPerPage = 100;

export const archiveCommand: CliCommand = {
  name: 'archive',
  summary: 'Move old or named sessions into an export file',
  about: [
    'Writes the sessions to a file, as `quittance export` does, and verifies that file. With `--remove` it then removes them from the ledger. The ledger records each removal with the end of the chain, a name and a reason. Anchors from before stay valid: `quittance verify --anchor` knows recorded removals, and `quittance verify --export FILE --anchor` checks the archived sessions.',
    'Sessions with an open or unresolved call stay, and so does a session that changes meanwhile. Sealed inputs and artifacts are not part of an export: they are gone after the removal.',
  ],
  options: {
    out: { value: 'FILE', help: 'Output file', file: true },
    before: { value: 'TIME', help: 'Sessions without an event since this time: 90d, 2026-10-12' },
    session: { value: 'ID', help: 'This session; can be repeated', multiple: true },
    remove: { help: 'Remove the archived sessions from the ledger' },
    by: { value: 'NAME', help: 'Name recorded with the removals' },
    reason: { value: 'TEXT', help: 'Reason recorded with the removals' },
    ...proofOptions,
    force: { help: 'Overwrite an existing file' },
  },
  examples: [
    ['quittance archive --before 90d --out 2026-q3.jsonl', 'write and verify, remove nothing'],
    [
      'quittance archive --before 90d --out 2026-q3.jsonl --remove --by "Ada" --reason "retention, 90 days"',
      'the same, then remove',
    ],
  ],
  effect(given, context) {
    readTarget(given, context);
    if (!given.has('remove')) return makes;
    const line = 'quittance archive --before 90d --out archive.jsonl --remove --by NAME --reason TEXT';
    if (!given.has('reason') || (!given.has('by') && readSecret(given, context) === undefined))
      throw new UsageError('A removal is recorded with a name and a reason: --by and --reason are needed.', [
        line,
      ]);
    const question = 'Remove the archived sessions from the ledger?';
    return removalEffect(given, context, { line, question, word: 'remove' });
  },
  run: async (given, context) => {
    const target = readTarget(given, context);
    const before = given.text('before');
    const wanted = given.list('session');
    const removal = given.has('remove') ? readRemovalReason(given, context) : undefined;
    return context.withLedger(
      given,
      async (ledger) => {
        const heads =
          before === undefined
            ? await chooseHeads(ledger, wanted)
            : await findOld(ledger, parseMoment(before, 'before', ledger.now()));
        return archive(ledger, heads, target, removal, context);
      },
      removal === undefined ? 'look' : 'write',
    );
  },
};

function readTarget(given: Given, context: Context): string {
  const target = given.text('out');
  const example = 'quittance archive --before 90d --out archive.jsonl';
  if (target === undefined || target === '-')
    throw new UsageError('--out needs a file: it is verified before anything is removed.', [example]);
  if (given.has('before') === given.has('session'))
    throw new UsageError('Name either --before TIME or --session ID.', [example]);
  checkOutputFile(target, given.has('force') ? undefined : `${example} --force`, given, context);
  return target;
}

/** The ends of sessions without an open or unresolved call whose last event is before this time. */
async function findOld(ledger: OpenLedger, before: number): Promise<readonly Head[]> {
  const found: Head[] = [];
  for (let cursor: string | undefined; ;) {
    const { rows, next } = await findSessions(ledger, {
      until: before,
      limit: sessionsPerPage,
      ...(cursor !== undefined && { cursor }),
    });
    for (const { sessionId, lastAt, openCalls, unresolved } of rows)
      if (lastAt < before && openCalls === 0 && unresolved === 0)
        found.push(...(await readHeads(ledger, sessionId)));
    if (next === undefined) return found;
    cursor = next;
  }
}

async function archive(
  ledger: OpenLedger,
  heads: readonly Head[],
  target: string,
  removal: RemovalReason | undefined,
  context: Context,
): Promise<ExitCode> {
  const { err, signal } = context;
  if (heads.length === 0) {
    await err.say('There is nothing to archive.');
    return exitCodes.good;
  }
  const exported = await exportTo(target, ledger, heads, context);
  if (exported !== exitCodes.good || signal.aborted) return exported;
  const verdict = await verifyExport(target, undefined, context, async ({ message }) => err.say(message));
  if (!verdict.finished) return exitCodes.good;
  if (verdict.problems > 0) {
    await err.say(`${target} has ${verdict.problems} problems, so nothing was removed.`);
    return exitCodes.bad;
  }
  if (removal === undefined) return exitCodes.good;
  let removed = 0;
  for (const head of heads) {
    if (signal.aborted) break;
    if (await removeSession(ledger, head, removal, context)) removed++;
  }
  await err.say(
    `Removed ${removed} of ${heads.length} sessions. Keep ${shellWord(target)}: nothing else has their entries.`,
  );
  return removed === heads.length ? exitCodes.good : exitCodes.bad;
}

/** False, and it stays, if it changed since the export or a call of it is open or unresolved. */
async function removeSession(
  ledger: OpenLedger,
  { sessionId, hash }: Head,
  removal: RemovalReason,
  { err }: Context,
): Promise<boolean> {
  const shown = JSON.stringify(terminalId(sessionId));
  try {
    await refuseUnresolved(ledger, sessionId, undefined);
    if (await ledger.dropSession({ sessionId, ...removal, lastHash: hash })) return true;
    await err.say(`Session ${shown} changed since the export. It stays.`);
    return false;
  } catch (error) {
    if (!isQuittanceError(error, 'ledger.in_use')) throw error;
    await err.say(`Session ${shown} has an open or unresolved call. It stays.`);
    return false;
  }
}
