import type { MigrationState } from '@quittance/postgres/internal/migrate';
import { parseLedgerUrl } from 'quittance/internal/store/ledger-url';
import { openLedger } from 'quittance/internal/store/open-ledger';
import type { CliCommand, Context, Given } from '../command.ts';
import { makes } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import { exitCodes } from '../exit-code.ts';
import { UsageError } from '../usage-error.ts';

const line = 'quittance migrate --ledger postgres://admin@host/database';

export const migrateCommand: CliCommand = {
  name: 'migrate',
  summary: 'Create or upgrade the tables of a ledger, ahead of a deployment',
  about: [
    'Use a role that may create tables. The processes that make calls then need no such right: they refuse to start if the tables have another version. The command can be repeated; processes that run it at the same time wait for each other. If an upgrade fills the lists again, it shows its progress; a run that was killed continues. A SQLite ledger is upgraded in its file.',
    '--roles prints SQL that creates roles with few rights. Processes that make calls use the writer, people and programs that look use the reader, and people who decide use the approver. Retention uses the keeper. Nothing is changed. Run the SQL as the owner of the tables, and again after a migration.',
    'Exit code 1: with --dry-run, the tables are not up to date.',
  ],
  options: {
    'dry-run': { help: 'Only say which version the tables have and which one this program needs' },
    'print-sql': { help: 'Print the SQL of the migration instead of running it' },
    roles: { help: 'Print the SQL of the roles' },
  },
  examples: [
    [line, 'create the tables, or upgrade them'],
    [`${line} --dry-run`, 'in a pipeline, before a deployment'],
    [`${line} --print-sql > migration.sql`, 'for a database administrator'],
    [`${line} --roles | psql`, 'create the roles'],
  ],
  effect: makes,
  async run(given, context) {
    const url = context.ledgerUrl(given, 'make');
    if (parseLedgerUrl(url).kind === 'sqlite') return migrateFile(url, given, context);
    const { openMigration } = await import('@quittance/postgres/internal/open-migration');
    const migration = openMigration(url, process.env);
    try {
      if (given.has('roles')) {
        await context.out.write(migration.rolesScript());
        return exitCodes.good;
      }
      const state = await migration.readState();
      if (given.has('print-sql')) {
        await context.out.write(migration.toScript(state));
        return exitCodes.good;
      }
      if (given.has('dry-run')) return await dryRun(state, context);
      let progress: ReturnType<typeof context.startProgress> | undefined;
      let last = 0;
      await migration.run(({ position, end }) => {
        progress ??= context.startProgress('upgrade', end);
        progress.step(position - last);
        last = position;
      });
      progress?.done();
      await context.out.say(
        state.found === state.wanted
          ? `The tables are up to date: version ${state.wanted}.`
          : `The tables have version ${state.wanted} now. Before: ${versionText(state.found)}.`,
      );
      return exitCodes.good;
    } finally {
      await migration.close();
    }
  },
};

async function dryRun({ found, wanted, isFilled }: MigrationState, { out }: Context): Promise<ExitCode> {
  if (found === wanted && !isFilled) {
    await out.say(`The tables have version ${found}, and their lists are not filled yet.`);
    return exitCodes.bad;
  }
  await out.say(
    found === wanted
      ? `The tables are up to date: version ${wanted}.`
      : `The tables have ${versionText(found)}, and this program needs version ${wanted}.`,
  );
  return found === wanted ? exitCodes.good : exitCodes.bad;
}

const versionText = (version: number): string => (version === 0 ? 'no version' : `version ${version}`);

async function migrateFile(url: string, given: Given, { out }: Context): Promise<ExitCode> {
  for (const name of ['print-sql', 'roles', 'dry-run'])
    if (given.has(name)) throw new UsageError(`--${name} is for a ledger in PostgreSQL.`, [line]);
  await (await openLedger(url)).close();
  await out.say('The ledger file is up to date.');
  return exitCodes.good;
}
