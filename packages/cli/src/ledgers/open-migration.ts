/** The migrations of a ledger in PostgreSQL, for a role that may create tables. */
import type { MigrationState } from '@quittance/postgres/internal/migrate';
import { migrate, readMigrationState, toMigrationScript } from '@quittance/postgres/internal/migrate';
import { withPgEnvironment, readSettings } from '@quittance/postgres/internal/settings';
import { PgPool } from '@quittance/postgres/internal/pg-pool';
import type { FillProgress } from '@quittance/postgres/internal/rebuild';
import { toRolesScript } from '@quittance/postgres/internal/roles';

export interface Migration {
  readState(): Promise<MigrationState>;
  /** `onProgress` hears how far the lists of an older ledger are filled. */
  run(onProgress?: (progress: FillProgress) => void): Promise<void>;
  toScript(state: MigrationState): string;
  rolesScript(): string;
  close(): Promise<void>;
}

export function openMigration(url: string): Migration {
  const settings = readSettings(withPgEnvironment(url, process.env), {});
  const pool = new PgPool(settings);
  return {
    readState: () => readMigrationState(pool),
    async run(onProgress) {
      await migrate(pool, onProgress);
    },
    toScript: (state) => toMigrationScript(settings.schema, state),
    rolesScript: () => toRolesScript(settings.schema),
    close: () => pool.close(),
  };
}
