import { createHash, hash as digest } from 'node:crypto';
import { QuittanceError } from '../../base/error.ts';
import type { ArtifactFacts, Artifacts, NewArtifact, StoredArtifact } from '../../ledger/artifacts.ts';
import type { PgPool } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-text.ts';

type ArtifactRow = {
  readonly call_id: string;
  readonly mime: string;
  readonly encoding: ArtifactFacts['encoding'];
  readonly bytes: number;
  readonly hash: string;
};

const pieceBytes = 4_194_304;

export class PostgresArtifacts implements Artifacts {
  readonly #pool: PgPool;

  constructor(pool: PgPool) {
    this.#pool = pool;
  }

  async put({ sessionId, artifactId, callId, mimeType, content }: NewArtifact): Promise<void> {
    const encoding =
      typeof content === 'string' ? (content.isWellFormed() ? 'utf8' : 'utf16le') : ('bytes' as const);
    const bytes =
      typeof content === 'string'
        ? Buffer.from(content, encoding as BufferEncoding) // a string has one of the two text encodings
        : Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    // Without the content, the result of a call that ran would be lost.
    await this.#pool.repeat(
      `INSERT INTO @artifacts (session_id, artifact_id, call_id, mime, encoding, bytes, hash, content)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (session_id, artifact_id) DO UPDATE SET call_id = excluded.call_id, mime = excluded.mime,
         encoding = excluded.encoding, bytes = excluded.bytes, hash = excluded.hash, content = excluded.content`,
      [
        toPgText(sessionId),
        toPgText(artifactId),
        toPgText(callId),
        toPgText(mimeType),
        encoding,
        bytes.byteLength,
        digest('sha256', bytes),
        bytes,
      ],
    );
  }

  async read(sessionId: string, artifactId: string): Promise<StoredArtifact | undefined> {
    const row = await this.#find(sessionId, artifactId);
    if (row === undefined) return undefined;
    const pieces: Uint8Array[] = [];
    for (let from = 0; from < row.bytes; from += pieceBytes)
      pieces.push(await this.#piece(sessionId, artifactId, from, pieceBytes));
    const bytes = Buffer.concat(pieces);
    if (digest('sha256', bytes) !== row.hash) throw alteredError();
    return {
      artifactId,
      callId: fromPgText(row.call_id),
      mimeType: fromPgText(row.mime),
      content: row.encoding === 'bytes' ? new Uint8Array(bytes) : bytes.toString(row.encoding),
    };
  }

  async measure(sessionId: string, artifactId: string): Promise<ArtifactFacts | undefined> {
    const row = await this.#find(sessionId, artifactId);
    return row && { mimeType: fromPgText(row.mime), encoding: row.encoding, bytes: row.bytes };
  }

  async readBytes(
    sessionId: string,
    artifactId: string,
    from: number,
    most: number,
  ): Promise<Uint8Array | undefined> {
    const row = await this.#find(sessionId, artifactId);
    if (row === undefined) return undefined;
    await this.#check(sessionId, artifactId, row);
    return this.#piece(sessionId, artifactId, from, most);
  }

  /** Throws where the content is not the one that was stored. */
  async #check(sessionId: string, artifactId: string, { bytes, hash }: ArtifactRow): Promise<void> {
    const found = createHash('sha256');
    for (let from = 0; from < bytes; from += pieceBytes)
      found.update(await this.#piece(sessionId, artifactId, from, pieceBytes));
    if (found.digest('hex') !== hash) throw alteredError();
  }

  async #piece(sessionId: string, artifactId: string, from: number, most: number): Promise<Uint8Array> {
    const [row] = await this.#pool.read<{ piece: Buffer }>(
      `SELECT substring(content FROM $3::integer FOR $4::integer) AS piece
       FROM @artifacts WHERE session_id = $1 AND artifact_id = $2`,
      [toPgText(sessionId), toPgText(artifactId), from + 1, most],
    );
    return new Uint8Array(row?.piece ?? Buffer.alloc(0));
  }

  async #find(sessionId: string, artifactId: string): Promise<ArtifactRow | undefined> {
    const [row] = await this.#pool.read<ArtifactRow>(
      'SELECT call_id, mime, encoding, bytes, hash FROM @artifacts WHERE session_id = $1 AND artifact_id = $2',
      [toPgText(sessionId), toPgText(artifactId)],
    );
    return row;
  }
}

const alteredError = (): QuittanceError =>
  new QuittanceError(
    'ledger.altered',
    'Another program changed the content of an artifact. `quittance verify` says which.',
    { how: 'changed' },
  );
