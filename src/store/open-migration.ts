/** The migrations of a ledger in PostgreSQL, for a role that may create tables. */
import type { MigrationState } from './postgres/migrate.ts';
import { migrate, readMigrationState, toMigrationScript } from './postgres/migrate.ts';
import { withPgEnvironment } from './postgres/pg-environment.ts';
import { PgPool } from './postgres/pg-pool.ts';
import { toRolesScript } from './postgres/roles.ts';
import { readSettings } from './postgres/settings.ts';

export interface Migration {
  readState(): Promise<MigrationState>;
  run(): Promise<void>;
  toScript(state: MigrationState): string;
  rolesScript(): string;
  close(): Promise<void>;
}

export function openMigration(url: string): Migration {
  const settings = readSettings(withPgEnvironment(url, process.env), {});
  const pool = new PgPool(settings);
  return {
    readState: () => readMigrationState(pool),
    async run() {
      await migrate(pool);
    },
    toScript: (state) => toMigrationScript(settings.schema, state),
    rolesScript: () => toRolesScript(settings.schema),
    close: () => pool.close(),
  };
}
