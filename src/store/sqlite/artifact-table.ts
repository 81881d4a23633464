/** Stores which session may read which artifact. The contents are files. */
import type { ArtifactFacts, Artifacts, NewArtifact, StoredArtifact } from '../../ledger/artifacts.ts';
import type { ArtifactEncoding } from './artifact-files.ts';
import { ArtifactFiles } from './artifact-files.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import type { Heads } from './heads.ts';
import { fromSqlText, toSqlText } from './sql-text.ts';
import type { ArtifactOrder } from './write-order.ts';
import { isDone } from './write-order.ts';
import type { Writer } from './writer.ts';

type Row = { call: string; mime: string; encoding: ArtifactEncoding; hash: string; bytes: number };

export class ArtifactTable implements Artifacts {
  readonly #files: ArtifactFiles;
  readonly #heads: Heads;
  readonly #writer: Writer;
  readonly #put: Statement<never>;
  readonly #read: Statement<Row>;
  readonly #dropSession: Statement<string>;
  readonly #dropCall: Statement<string>;
  readonly #isNamed: Statement<number>;

  constructor(database: Database, folder: string, heads: Heads, writer: Writer) {
    this.#files = new ArtifactFiles(folder);
    this.#heads = heads;
    this.#writer = writer;
    this.#put = prepareRow(database, 'INSERT OR REPLACE INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?)');
    this.#read = prepareRow(
      database,
      'SELECT call, mime, encoding, hash, bytes FROM artifacts WHERE session = ? AND artifact = ?',
    );
    this.#dropSession = prepareValue(database, 'DELETE FROM artifacts WHERE session = ? RETURNING hash');
    this.#dropCall = prepareValue(
      database,
      'DELETE FROM artifacts WHERE session = ? AND call = ? RETURNING hash',
    );
    this.#isNamed = prepareValue(database, 'SELECT EXISTS (SELECT 1 FROM artifacts WHERE hash = ?)');
  }

  async put(artifact: NewArtifact): Promise<void> {
    for (;;) {
      const kept = await this.#files.put(artifact.content);
      const { sessionId, artifactId, callId, mimeType } = artifact;
      const order = { type: 'artifact', sessionId, artifactId, callId, mimeType, ...kept } as const;
      if (isDone(await this.#writer.order(order))) return;
      // Another session dropped this content between the two steps: write it again.
    }
  }

  async read(sessionId: string, artifactId: string): Promise<StoredArtifact | undefined> {
    const row = this.#find(sessionId, artifactId);
    if (row === undefined) return undefined;
    const content = await this.#files.read(row.hash, row.encoding);
    return { artifactId, callId: fromSqlText(row.call), mimeType: fromSqlText(row.mime), content };
  }

  measure(sessionId: string, artifactId: string): ArtifactFacts | undefined {
    const row = this.#find(sessionId, artifactId);
    return row && { mimeType: fromSqlText(row.mime), encoding: row.encoding, bytes: row.bytes };
  }

  async readBytes(
    sessionId: string,
    artifactId: string,
    from: number,
    most: number,
  ): Promise<Uint8Array | undefined> {
    const row = this.#find(sessionId, artifactId);
    return row && this.#files.readBytes(row.hash, from, most);
  }

  #find(sessionId: string, artifactId: string): Row | undefined {
    const head = this.#heads.fresh().find(sessionId);
    return head && this.#read.get(head.session, toSqlText(artifactId));
  }

  /** Call inside a transaction. Returns the contents that may have lost their last reference, for `sweep`. */
  dropSession(session: number): readonly string[] {
    return this.#dropSession.all(session);
  }

  dropCall(session: number, callId: string): readonly string[] {
    return this.#dropCall.all(session, toSqlText(callId));
  }

  /** Removes contents that no session references any more. */
  async sweep(hashes: readonly string[]): Promise<void> {
    for (const hash of new Set(hashes))
      await this.#writer.run(() => {
        if (this.#isNamed.get(hash) === 0) this.#files.remove(hash);
      });
  }

  /** Call inside a transaction. False if the content is no longer on disk. */
  name({ sessionId, artifactId, callId, mimeType, encoding, bytes, hash }: ArtifactOrder): boolean {
    if (!this.#files.has(hash)) return false;
    this.#put.run(
      this.#heads.take(sessionId).session,
      toSqlText(artifactId),
      toSqlText(callId),
      toSqlText(mimeType),
      encoding,
      bytes,
      hash,
    );
    return true;
  }
}
