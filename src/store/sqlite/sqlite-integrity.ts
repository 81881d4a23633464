import { QuittanceError } from '../../base/error.ts';
import type { Head, HeadQuery } from '../../ledger/chain.ts';
import type { Integrity } from '../../ledger/integrity.ts';
import type { SideRow } from '../../ledger/side-row.ts';
import type { StoreFinding } from '../../ledger/store-finding.ts';
import { toDamagedFileError } from './damaged-file.ts';
import { isRefusedValue } from './database.ts';
import type { HeadPages } from './head-pages.ts';
import type { Heads } from './heads.ts';
import { inspectFile } from './inspect.ts';
import type { ReadTables } from './read-tables.ts';
import type { SideRebuildParts } from './side-rebuild.ts';
import { rebuildSideTables } from './side-rebuild.ts';
import { listSqliteSideRows } from './sqlite-side-rows.ts';

export type IntegrityParts = SideRebuildParts & {
  readonly path: string;
  readonly heads: Heads;
  readonly headPages: HeadPages;
  readonly tables: ReadTables;
};

export class SqliteIntegrity implements Integrity {
  readonly #parts: IntegrityParts;

  constructor(parts: IntegrityParts) {
    this.#parts = parts;
  }

  readHeads(of?: string): readonly Head[] {
    const heads = this.#parts.heads.fresh();
    const one = of === undefined ? undefined : heads.find(of);
    const found = of === undefined ? heads.all() : one === undefined || one.sequence === 0 ? [] : [one];
    return found.map(({ sessionId, sequence, hash }) => ({ sessionId, sequence, hash }));
  }

  findHeads(query: HeadQuery): readonly Head[] {
    return this.#parts.headPages.read(query);
  }

  countSessions(): number {
    return this.#parts.headPages.count();
  }

  readSideRows(): AsyncIterable<SideRow> {
    return listSqliteSideRows(this.#parts.database);
  }

  inspect(signal: AbortSignal): AsyncIterable<StoreFinding> {
    return inspectFile(this.#parts.path, signal);
  }

  async rebuild(): Promise<readonly string[]> {
    try {
      const problems = await rebuildSideTables(this.#parts);
      return [...problems, ...(await this.#parts.tables.rebuild())];
    } catch (error) {
      if (isRefusedValue(error)) throw unrepairedError(error, this.#parts.path);
      throw toDamagedFileError(error, this.#parts.path);
    }
  }
}

const unrepairedError = (cause: unknown, path: string): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The ledger ${path} has a value that no program of ours wrote, such as a position without an end, so it cannot be rebuilt. ` +
      'Nothing was changed. `quittance verify` names the place. Restore a backup to another path: quittance restore FOLDER NEW.db',
    { path },
    cause,
  );
