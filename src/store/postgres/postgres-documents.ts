import type { Documents, StoredDocument } from '../../ledger/documents.ts';
import type { PgPool } from './pg-pool.ts';
import { toPgText } from './pg-text.ts';

export class PostgresDocuments implements Documents {
  readonly #pool: PgPool;

  constructor(pool: PgPool) {
    this.#pool = pool;
  }

  async read(name: string, knownVersion = 0): Promise<StoredDocument> {
    const [row] = await this.#pool.read<{ version: number; text: string | null }>(
      `SELECT version, CASE WHEN version <> $2 THEN text END AS text FROM @documents WHERE name = $1`,
      [toPgText(name), knownVersion],
    );
    return { version: row?.version ?? 0, text: row?.text ?? undefined };
  }

  async replace(name: string, version: number, text: string): Promise<boolean> {
    const rows = await this.#pool.query(
      version === 0
        ? `INSERT INTO @documents (name, version, text) VALUES ($1, $2::bigint + 1, $3)
           ON CONFLICT (name) DO NOTHING RETURNING 1`
        : 'UPDATE @documents SET version = version + 1, text = $3 WHERE name = $1 AND version = $2 RETURNING 1',
      [toPgText(name), version, text],
    );
    return rows.length === 1;
  }
}
