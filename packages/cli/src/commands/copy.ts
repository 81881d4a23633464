import { parseLedgerUrl } from 'quittance/internal/store/ledger-url';
import type { CliCommand } from '../command.ts';
import { makes } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { findLedger } from '../find-ledger.ts';
import { UsageError } from '../usage-error.ts';

const line = 'quittance copy .quittance/ledger.db postgres://user@host/database';

export const copyCommand: CliCommand = {
  name: 'copy',
  summary: 'Copy a ledger to another file or database',
  takes: '<from> <to>',
  most: 2,
  about: [
    'Copies all entries as they are stored, with sealed inputs and artifacts. Every hash stays the same, so anchors of the source hold for the copy. Tokens and the positions of behaviors are not copied.',
    'The target is new, or an earlier copy that was not used since: then only missing entries are added. So you can copy while the source is in use, stop its processes, and copy the rest. A copy that fails or is stopped changes nothing.',
    'The processes of the copy need the seal key of the source. For a target in PostgreSQL, set QUITTANCE_SEAL_KEY_FILE to the key file of the source.',
  ],
  options: {},
  examples: [
    [line, 'from a file to PostgreSQL'],
    ['quittance copy postgres://user@host/database ledger.db', 'from PostgreSQL to a file'],
  ],
  effect: makes,
  async run(given, context) {
    const [from, to] = given.args;
    if (from === undefined || to === undefined)
      throw new UsageError('Missing ledger: name the source and the target.', [line]);
    if (given.has('ledger'))
      throw new UsageError('The two ledgers are arguments, not the option --ledger.', [line]);
    const source = findLedger(from, undefined);
    const target = findLedger(to, undefined, true);
    const { copyLedger } = await import('../ledgers/copy-ledger.ts');
    let progress: ReturnType<typeof context.startProgress> | undefined;
    try {
      const { entries, sessions, artifacts, hasKey } = await copyLedger(source, target, {
        signal: context.signal,
        onStart: (total) => {
          progress = context.startProgress('copy', total);
        },
        onEntry: () => progress?.step(),
      });
      progress?.done();
      await context.out.say(
        entries === 0
          ? 'The target had every entry already.'
          : `Copied ${count(entries, 'entry', 'entries')}. The target now has ${count(sessions, 'session')} and ${count(artifacts, 'artifact')} of the source.`,
      );
      if (!hasKey)
        await context.err.say(
          'The seal key of the source was not found here. Give its key to the processes of the copy: sealed inputs and idempotency keys depend on it.',
        );
      else if (parseLedgerUrl(target).kind === 'postgres')
        await context.err.say(
          'The processes of the copy need the seal key of the source: set QUITTANCE_SEAL_KEY_FILE.',
        );
      return exitCodes.good;
    } catch (error) {
      if (!context.signal.aborted) throw error;
      await context.err.say('Stopped. Nothing was copied.');
      return exitCodes.bad;
    } finally {
      progress?.done();
    }
  },
};

const count = (number: number, one: string, many = `${one}s`): string =>
  `${number} ${number === 1 ? one : many}`;
