import { needFile } from '../load-or-explain.ts';
import { findSealKey } from 'quittance/internal/store/seal-key';
import type { CliCommand, Context, Given } from '../command.ts';
import { makes } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { findLedger } from '../find-ledger.ts';
import { shellWord } from '../find-call.ts';
import { safeJson, terminalId, terminalText } from '../terminal-text.ts';
import { localTimeText, utcTimeText } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';
import type { Restored } from '../ledgers/restore-ledger.ts';

const line = 'quittance restore /backup/2026-11-17 .quittance/ledger.db';

export const restoreCommand: CliCommand = {
  name: 'restore',
  summary: 'Restore a backup as a new ledger, verified',
  takes: '<folder> <to>',
  most: 2,
  about: [
    'Checks every file of the backup against its manifest, and the chains against the anchor, before the ledger gets its name. Overwrites nothing. The target is a path, or a PostgreSQL database without a ledger.',
    'The old processes may have continued after the backup. So a call that was held, approved or waiting then ends as denied (ended). An attempt without an end becomes indeterminate. None of them runs again by itself. Only attempts that their tool declared safe to run again stay open. Calls made after the backup are unknown to the restored ledger: a program that repeats one runs it again.',
  ],
  options: {
    'seal-key-file': { value: 'FILE', help: 'Seal key of the ledger, if the backup lacks it', file: true },
    'lost-key': { help: 'Restore without the seal key: what it sealed cannot be opened any more' },
    tokens: { help: 'Also restore access tokens; those revoked after the backup are valid again' },
    json: { help: 'JSON instead of text: one line for each call that was open, then one with the totals' },
  },
  examples: [
    [`${line} --seal-key-file ledger.db.key`, 'to a file'],
    ['quittance restore /backup/today postgres://user@host/database', 'to PostgreSQL'],
  ],
  effect(given, context) {
    const [folder, to] = given.args;
    if (folder === undefined || to === undefined)
      throw new UsageError('Name the folder of the backup and the new ledger.', [line]);
    if (given.has('ledger')) throw new UsageError('The new ledger is an argument, not --ledger.', [line]);
    if (!given.has('tokens')) return makes;
    // The new ledger has no tokens yet, so a person gives these rights.
    return {
      kind: 'decides',
      role: 'admin',
      byDefault: context.userName,
      ledgerUrls: [findLedger(to, undefined, true)],
      line: `${line} --tokens`,
      asks: { question: 'Restore the access tokens of the backup?', word: 'tokens' },
    };
  },
  async run(given, context) {
    const [folder = '', to = ''] = given.args;
    const { signal, startProgress, err } = context;
    const target = findLedger(to, undefined, true);
    const { restoreLedger } = await import('../ledgers/restore-ledger.ts');
    try {
      const restored = await restoreLedger(folder, target, {
        signal,
        startProgress,
        sealKey: readKey(given, context),
        withoutKey: given.has('lost-key'),
        tokens: given.has('tokens'),
      });
      return await report(restored, to, given, context);
    } catch (error) {
      if (!signal.aborted) throw error;
      await err.say('Stopped. Nothing was restored.');
      return exitCodes.bad;
    }
  },
};

function readKey(given: Given, { env }: Context): Uint8Array | undefined {
  const file = given.text('seal-key-file');
  if (file !== undefined) needFile(file, `${line} --seal-key-file ledger.db.key`);
  if (given.has('lost-key')) return undefined;
  return findSealKey(env, { ...(file !== undefined && { sealKeyFile: file }) })?.sealKey;
}

async function report(
  { manifest, ended }: Restored,
  to: string,
  given: Given,
  { out, err }: Context,
): Promise<ExitCode> {
  if (given.has('json')) {
    for (const call of ended) await out.print(safeJson({ type: 'call', ...call }));
    const { at, entries, sessions, artifacts } = manifest;
    await out.print(
      safeJson({
        type: 'restored',
        at: utcTimeText(at),
        entries,
        sessions,
        artifacts,
        openCalls: ended.length,
      }),
    );
    return exitCodes.good;
  }
  await out.say(
    `Restored and verified ${manifest.entries} entries of ${manifest.sessions} sessions, as of ${localTimeText(manifest.at)}.`,
  );
  for (const { sessionId, callId, toolName, how } of ended.slice(0, 50))
    await out.print(
      `  ${terminalId(callId)}  ${terminalText(toolName)}  session ${terminalId(sessionId)}: ${words[how]}`,
    );
  if (ended.length > 50) await out.print(`  and ${ended.length - 50} more`);
  if (ended.length > 0)
    await err.say(
      `${ended.length} ${ended.length === 1 ? 'call was' : 'calls were'} open in the backup. Each may have run after it: check before you allow a repeat.`,
    );
  await err.say(
    `Calls made after ${localTimeText(manifest.at)} are not in this ledger. Stop the old processes, and check what they did since, before agents continue. Check again: quittance verify --ledger ${shellWord(to)} --anchor …/anchor.json`,
  );
  return exitCodes.good;
}

const words: Readonly<Record<Restored['ended'][number]['how'], string>> = {
  cancelled: 'ended as denied; it did not run here',
  indeterminate: 'indeterminate: it was running, resolve it with quittance reconcile',
  failed: 'ended with its last failure',
  left: 'open: its tool may run it again',
  resumed: 'continued',
  rerun: 'ran again',
  reconciled: 'ended as its tool reported',
  timed_out: 'timed out',
};
