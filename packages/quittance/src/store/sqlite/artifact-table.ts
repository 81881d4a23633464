/** Stores which session may read which artifact. The contents are files. */
import type { Database } from './database.ts';
import { toSqlText, fromSqlText } from './database.ts';
import type { ArtifactEncoding, ArtifactFiles, KeptContent } from './artifact-files.ts';
import type { Session } from './sessions.ts';

/** An artifact whose content is on disk. */
export type NamedArtifact = KeptContent & {
  readonly sessionId: string;
  readonly artifactId: string;
  readonly callId: string;
  readonly mimeType: string;
};

type Row = { call: string; mime: string; encoding: ArtifactEncoding; hash: string; bytes: number };

export class ArtifactTable {
  readonly #sql: Database;
  readonly #files: ArtifactFiles;

  constructor(sql: Database, files: ArtifactFiles) {
    this.#sql = sql;
    this.#files = files;
  }

  find(
    { session }: Session,
    artifactId: string,
  ): (KeptContent & Pick<NamedArtifact, 'callId' | 'mimeType'>) | undefined {
    const row = this.#sql
      .row<Row>('SELECT call, mime, encoding, hash, bytes FROM artifacts WHERE session = ? AND artifact = ?')
      .get(session, toSqlText(artifactId));
    if (row === undefined) return undefined;
    const { call, mime, encoding, hash, bytes } = row;
    return { callId: fromSqlText(call), mimeType: fromSqlText(mime), encoding, hash, bytes };
  }

  /** Call inside a transaction. False if the content is no longer on disk. */
  name(
    { session }: Session,
    { artifactId, callId, mimeType, encoding, bytes, hash }: NamedArtifact,
  ): boolean {
    if (!this.#files.has(hash)) return false;
    this.#sql.run(
      'INSERT OR REPLACE INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?)',
      session,
      toSqlText(artifactId),
      toSqlText(callId),
      toSqlText(mimeType),
      encoding,
      bytes,
      hash,
    );
    return true;
  }

  /** Call inside a transaction. Returns the contents that may have lost their last reference, for `sweep`. */
  dropSession(session: number): readonly string[] {
    return this.#sql.value<string>('DELETE FROM artifacts WHERE session = ? RETURNING hash').all(session);
  }

  dropCall(session: number, callId: string): readonly string[] {
    return this.#sql
      .value<string>('DELETE FROM artifacts WHERE session = ? AND call = ? RETURNING hash')
      .all(session, toSqlText(callId));
  }

  /** Call inside a transaction. Removes a content that no session references any more. */
  sweep(hash: string): void {
    const isNamed = this.#sql.value<number>('SELECT EXISTS (SELECT 1 FROM artifacts WHERE hash = ?)');
    if (isNamed.get(hash) === 0) this.#files.remove(hash);
  }
}
