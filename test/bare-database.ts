import { DatabaseSync } from 'node:sqlite';
import { Database } from '../packages/quittance/src/store/sqlite/database.ts';

type BareOptions = {
  readonly readOnly?: boolean;
  /** False lets it change what SQLite protects from mistakes, such as the texts of the schema. */
  readonly defensive?: boolean;
};

/** Opens a file as another program would. It waits for locks. */
export const openBare = (path: string, { readOnly = false, defensive = true }: BareOptions = {}): Database =>
  new Database(new DatabaseSync(path, { readOnly, defensive, timeout: 5_000 }));
