/** The migrations of a ledger in PostgreSQL, for a role that may create tables. */
import type { MigrationState } from './migrate.ts';
import { migrate, readMigrationState, toMigrationScript } from './migrate.ts';
import { withPgEnvironment, readSettings } from './settings.ts';
import { PgPool } from './pg-pool.ts';
import type { FillProgress } from './rebuild.ts';
import { toRolesScript } from './roles.ts';

export interface Migration {
  readState(): Promise<MigrationState>;
  /** `onProgress` hears how far the lists of an older ledger are filled. */
  run(onProgress?: (progress: FillProgress) => void): Promise<void>;
  toScript(state: MigrationState): string;
  rolesScript(): string;
  close(): Promise<void>;
}

export function openMigration(
  url: string,
  env: Readonly<Record<string, string | undefined>> = {},
): Migration {
  const settings = readSettings(withPgEnvironment(url, env), {});
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
