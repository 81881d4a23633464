import { showLedgerUrl } from 'quittance/internal/store/ledger-url';
import { refuseOwnFile } from '../check-output-file.ts';
import { proofOptions } from '../proof.ts';
import type { CliCommand } from '../command.ts';
import { makes } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { safeJson, terminalText } from '../terminal-text.ts';
import { localTimeText, utcTimeText } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';

export const backupCommand: CliCommand = {
  name: 'backup',
  summary: 'Take a verified backup of the ledger while it is in use',
  takes: '<folder>',
  most: 1,
  about: [
    'Writes a new folder with the entries, artifacts and spilled results of one moment, its anchor, and a manifest with digests. Processes can continue to write. The copy is verified before the folder gets its name, so a backup that was stopped never looks whole.',
    'The seal key is not part of the backup unless you ask for it: a reader of both could open sealed inputs. Keep the key where your secrets are. A backup of a ledger in PostgreSQL is a ledger file too. It contains no tokens, and no results in spill files of hosts.',
  ],
  options: {
    'with-seal-key': { help: 'Include the seal key file of the ledger' },
    'no-verify': { help: 'Do not verify the copy; `quittance restore` verifies it anyway' },
    ...proofOptions,
    json: { help: 'JSON instead of text: one line with the manifest' },
  },
  examples: [
    ['quittance backup /backup/2026-11-17', 'of ./.quittance/ledger.db'],
    ['quittance backup /backup/today --ledger postgres://user@host/database', 'of PostgreSQL'],
  ],
  effect(given, context) {
    const [folder] = given.args;
    if (folder === undefined)
      throw new UsageError('Name the folder for the backup.', ['quittance backup /backup/2026-11-17']);
    context.ledgerUrl(given);
    refuseOwnFile(folder, given, context);
    if (!given.has('with-seal-key')) return makes;
    // A holder of the key can open sealed inputs and make decision links.
    return {
      kind: 'decides',
      role: 'admin',
      byDefault: context.userName,
      line: 'quittance backup FOLDER --with-seal-key',
      asks: { question: 'Include the seal key in the backup?', word: 'key' },
    };
  },
  async run(given, context) {
    const [folder = ''] = given.args;
    const url = context.ledgerUrl(given);
    const { out, err, signal, startProgress, version } = context;
    const { backupLedger } = await import('../ledgers/backup-ledger.ts');
    try {
      const backup = await backupLedger(url, folder, {
        signal,
        startProgress,
        version,
        withSealKey: given.has('with-seal-key'),
        verify: !given.has('no-verify'),
      });
      if (given.has('json')) {
        const { files, ...facts } = backup;
        await out.print(safeJson({ ...facts, at: utcTimeText(backup.at), files: files.length }));
        return exitCodes.good;
      }
      await out.say(
        `Backed up ${terminalText(showLedgerUrl(url))} as of ${localTimeText(backup.at)}: ${backup.entries} entries of ${backup.sessions} sessions, ${backup.artifacts} artifacts${backup.spills > 0 ? `, ${backup.spills} spilled results` : ''}.`,
      );
      await err.say(
        backup.hasSealKey
          ? 'The backup contains the seal key: its readers can open sealed inputs.'
          : 'The seal key is not in it. Keep the key elsewhere: a restore needs it.',
      );
      await err.say(
        `Keep a copy of ${shellWord(`${folder}/anchor.json`)} where people with write access to the backup cannot change it. Restore: quittance restore ${shellWord(folder)} ledger.db`,
      );
      return exitCodes.good;
    } catch (error) {
      if (!signal.aborted) throw error;
      await err.say('Stopped. No backup was written.');
      return exitCodes.bad;
    }
  },
};
