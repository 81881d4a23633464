/** A ledger in PostgreSQL, for any number of processes and hosts. */
import { createHash, hash as digest } from 'node:crypto';
import { contentBytes, contentEncoding } from 'quittance/internal/base/content-digest';
import { createIds } from 'quittance/internal/base/ids';
import { QuittanceError } from 'quittance/internal/base/error';
import type { ArtifactFacts, NewArtifact } from 'quittance/internal/ledger/artifacts';
import type { Page } from 'quittance/internal/ledger/call-query';
import type { ClaimHolder, Counter } from 'quittance/internal/ledger/claims';
import type { Documents, Ledger, OpenLedger, RowReaders, Spill } from 'quittance/internal/ledger/ledger';
import { createSalts, SpillFile } from 'quittance/internal/store/files/spill-file';
import type { CursorDialect } from 'quittance/internal/store/sql/cursors';
import { changeCursor, selectCursors } from 'quittance/internal/store/sql/cursors';
import type { SqlDriver } from 'quittance/internal/store/sql/driver';
import { bytesOf, createEntryReads } from 'quittance/internal/store/sql/entries';
import { createListedRows } from 'quittance/internal/store/sql/listed-rows';
import { pageOfSideRows } from 'quittance/internal/store/sql/side-rows';
import { claimedDigest } from './append-item.ts';
import type { SchemaGuard } from './append-lane.ts';
import { AppendLane } from './append-lane.ts';
import { Changes } from './changes.ts';
import { createPgDriver, entryDialect, listDialect, sideDialect } from './dialect.ts';
import { inspectTables } from './inspect-tables.ts';
import type { LedgerRow } from './migrate.ts';
import type { PgValue } from './pg-driver.ts';
import type { OrdRow, PgPool } from './pg-pool.ts';
import { GatheredRead } from './pg-pool.ts';
import { exactNumbers, fromPgText, pgNames, toPgText, toTextArray } from './pg-values.ts';
import { Horizon } from './positions.ts';
import { EffectGuesses, PostgresJournal } from './postgres-journal.ts';
import { PostgresOwners } from './postgres-owners.ts';
import { PostgresRetention } from './postgres-retention.ts';
import { rebuildSideTables, relistAll } from './rebuild.ts';
import type { PostgresLedgerOptions } from 'quittance/internal/store/postgres-package';
import { defaultSpillFolder, postgresOwnFiles } from 'quittance/internal/store/postgres-package';

type OpenedRow = LedgerRow & {
  /** False for a role that may only decide: see `roles.ts`. */
  readonly mayAppend: boolean;
  /** None for a handle that only reads. */
  readonly guard?: SchemaGuard | undefined;
};

/** Registers the owner, and gives the ledger. */
export async function beginLedger(
  pool: PgPool,
  { ledgerId, mayAppend, guard }: OpenedRow,
  options: PostgresLedgerOptions,
): Promise<OpenLedger> {
  const salt = createSalts();
  const horizon = new Horizon(pool);
  const driver = createPgDriver((text, values) => pool.read(text, values));
  const entries = createEntryReads(driver, entryDialect);
  const changes = new Changes({ pool, lastPosition: () => horizon.readLast() });
  const owners = new PostgresOwners({
    pool,
    // A role that may only decide owns no call.
    readOnly: options.readOnly === true || !mayAppend,
    channel: changes.channel,
    onNotification: () => changes.look(),
    onListening: (isListening) => {
      changes.isListening = isListening;
    },
    onForget: (gone) => spillFile?.forget(gone),
  });
  const { ownerId } = owners;
  const now = (): number => options.clock?.now() ?? owners.now();
  const spillFile = openSpill(options, ownerId, ledgerId, salt);
  const onCommit = (position: number): void => {
    horizon.noteOwn(position);
    changes.noteOwnCommit();
  };
  const lanes =
    guard === undefined
      ? []
      : Array.from({ length: pool.settings.writers }, (_, n) => {
          const name = mayAppend ? 'append_v3' : 'append_decisions';
          return new AppendLane(pool, guard, `${ownerId}/${n}`, onCommit, name);
        });
  const guesses = new EffectGuesses();
  const journal = new PostgresJournal({
    pool,
    guesses,
    ownerId,
    salt,
    append: lanes.length === 0 ? undefined : (item) => laneFor(lanes, item.session).append(item),
  });
  const retention = new PostgresRetention({ pool, ownerId, ids: createIds(), salt, now, onCommit });
  const rows = rowReaders(pool, driver, journal, guesses, entries, horizon, owners);
  await owners.begin();
  return {
    ownerId,
    now,
    runtimes: new Set(),
    spill: createSpill(spillFile, owners),
    documents: createDocuments(pool),
    ownFiles: postgresOwnFiles(options),
    readSealKey: options.readSealKey,
    get sealKey() {
      if (options.sealKey === undefined) throw missingKeyError();
      return options.sealKey;
    },
    append: (entry) => journal.append(entry),
    readCall: (sessionId, callId, lookUp) => journal.readCall(sessionId, callId, lookUp),
    readSession: entries.readSession,
    async readEntries(query) {
      await horizon.untilOwnAreSeen(query);
      return entries.readEntries(query);
    },
    query: (name, query) => rows[name](query),
    whenChanged: (awaited, signal) =>
      'after' in awaited
        ? changes.end(awaited.after, signal)
        : changes.call(awaited.sessionId, awaited.callId, awaited.version, signal),
    ...artifacts(pool),
    setCursor: createSetCursor(pool, ownerId),
    forgetOwner: (gone) => owners.forget(gone),
    erase: (erasure) => retention.erase(erasure),
    dropSession: (removal) => retention.dropSession(removal),
    inspect: (signal) => inspectTables(pool, signal),
    async rebuild() {
      const problems = await rebuildSideTables(pool, now);
      await relistAll(pool);
      return problems;
    },
    async close() {
      await journal.whenQueued();
      await Promise.all(lanes.map((lane) => lane.close()));
      await changes.close();
      await owners.end();
      spillFile?.close();
      await pool.close();
    },
  };
}

const missingKeyError = (): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    'A PostgreSQL ledger stores no seal key, and this process has none. Set QUITTANCE_SEAL_KEY_FILE, ' +
      'QUITTANCE_SEAL_KEY or QUITTANCE_SEAL_KEY_COMMAND, or pass the option sealKey.',
  );

/** A session always uses the same connection, so that its entries share batches and never wait for each other. */
const laneFor = (lanes: readonly AppendLane[], session: string): AppendLane => {
  let sum = 0;
  for (let index = 0; index < session.length; index++) sum = (sum * 31 + session.charCodeAt(index)) | 0;
  return lanes[Math.abs(sum) % lanes.length] as AppendLane; // there is at least one
};

function openSpill(
  { readOnly, spillFolder, spillBytes }: PostgresLedgerOptions,
  ownerId: string,
  ledgerId: string,
  salt: () => string,
): SpillFile | undefined {
  if (readOnly === true) return undefined;
  return new SpillFile(
    { folder: spillFolder ?? defaultSpillFolder, ownerId, ledgerId },
    spillBytes ?? 1_048_576,
    salt,
  );
}

/** Spills of other hosts are on their disks: only those of this host are read. */
const createSpill = (file: SpillFile | undefined, owners: PostgresOwners): Spill => ({
  write: async (entry) => file?.add(entry) ?? false,
  canWrite: async () => file?.isReady ?? false,
  async read() {
    if (file === undefined) return [];
    const spilled = file.read(() => true);
    const found = await Promise.all(
      spilled.map(async (one) => ({
        one,
        isOurs: one.ownerId === owners.ownerId || (await owners.statusOf(one.ownerId)) === 'gone',
      })),
    );
    return found.filter(({ isOurs }) => isOurs).map(({ one }) => one);
  },
  drop: async (ownerId, lastEntryId) => file?.drop(ownerId, lastEntryId) ?? false,
});

const createDocuments = (pool: PgPool): Documents => ({
  async read(name, knownVersion = 0) {
    const [row] = await pool.read<{ version: number; text: string | null }>(
      `SELECT version, CASE WHEN version <> $2 THEN text END AS text FROM @documents WHERE name = $1`,
      [toPgText(name), knownVersion],
    );
    return { version: row?.version ?? 0, text: row?.text ?? undefined };
  },
  async replace(name, version, text) {
    const rows = await pool.query(
      version === 0
        ? `INSERT INTO @documents (name, version, text) VALUES ($1, $2::bigint + 1, $3)
           ON CONFLICT (name) DO NOTHING RETURNING 1`
        : 'UPDATE @documents SET version = version + 1, text = $3 WHERE name = $1 AND version = $2 RETURNING 1',
      [toPgText(name), version, text],
    );
    return rows.length === 1;
  },
});

const page = <Row>(rows: readonly Row[]): Page<Row> => ({ rows, next: undefined });
const pageOf = <Row>(row: Row | undefined): Page<Row> => page(row === undefined ? [] : [row]);

function rowReaders(
  pool: PgPool,
  driver: SqlDriver,
  journal: PostgresJournal,
  guesses: EffectGuesses,
  { heads, measure, countSessions }: ReturnType<typeof createEntryReads>,
  horizon: Horizon,
  owners: PostgresOwners,
): RowReaders {
  const claims = new GatheredRead<ClaimRow>(pool, readClaimsSql);
  const effects = new GatheredRead<OrdRow & { readonly call_id: string }>(pool, findEffectsSql);
  const callSizes = new GatheredRead<OrdRow & { readonly bytes: number }>(pool, callSizesSql);
  return {
    ...createListedRows(driver, listDialect),
    async claims({ key }) {
      const [row] = await claims.read([toPgText(key)]);
      return pageOf(row && toHolder(row));
    },
    counters: async ({ names }) => page(await readCounters(pool, names)),
    async unsettled({ sessionId, toolName, inputDigest, lookUp = 'certain' }) {
      if (lookUp === 'before_append' && guesses.tryGuess(sessionId, { toolName, inputDigest }))
        return page<string>([]);
      const rows = await effects.read([toPgText(sessionId), toPgText(toolName), toPgText(inputDigest)]);
      return page(rows.map((row) => fromPgText(row.call_id)));
    },
    states: async ({ sessionId, subject }) => pageOf(await journal.readState(sessionId, subject)),
    sealed: async ({ sessionId, callId }) => pageOf(await journal.readSealed(sessionId, callId)),
    cursors: async ({ name }) => page(await selectCursors(driver, cursorDialect, name)),
    async owners(query) {
      if ('ownerId' in query)
        return pageOf({ ownerId: query.ownerId, status: await owners.statusOf(query.ownerId) });
      return page(owners.gone.map((ownerId) => ({ ownerId, status: 'gone' as const })));
    },
    heads,
    async sizes(query) {
      if ('limit' in query) {
        await horizon.untilOwnAreSeen(query);
        return page(await measure(query));
      }
      const { sessionId, callId } = query;
      const [row] = await callSizes.read([toPgText(sessionId), toPgText(callId)]);
      return pageOf({ position: 0, sessionId, bytes: row?.bytes ?? 0 });
    },
    end: async ({ countSessions: isCounted = false }) =>
      pageOf({
        position: await horizon.lastPosition(),
        sessions: isCounted ? await countSessions() : undefined,
      }),
    side_rows: ({ cursor }) => pageOfSideRows(driver, sideDialect, cursor),
  };
}

type ClaimRow = OrdRow & {
  readonly session_id: string;
  readonly call_id: string;
  readonly digest: string | null;
  readonly entry: string | null;
};

/** The marked entry decides. A row without one still blocks other calls from the key. */
const readClaimsSql = `SELECT x.o::integer AS ord, coalesce(e.session_id, c.session_id) AS session_id,
    coalesce(e.call_id, c.call_id) AS call_id, c.digest, e.text AS entry
  FROM unnest($1::text[]) WITH ORDINALITY x(k, o) LEFT JOIN @claims c ON c.key = x.k
  LEFT JOIN @marks m ON m.key = 'claim ' || x.k LEFT JOIN @entries e ON e.position = m.position
  WHERE coalesce(e.call_id, c.call_id) IS NOT NULL`;

const toHolder = (row: ClaimRow): ClaimHolder => ({
  sessionId: fromPgText(row.session_id),
  callId: fromPgText(row.call_id),
  inputDigest: claimedDigest(row),
});

const findEffectsSql = `SELECT x.o::integer AS ord, u.call_id
  FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY x(s, t, d, o)
  JOIN @unsettled u ON u.session_id = x.s AND u.tool = x.t AND u.digest = x.d ORDER BY x.o, u.position`;

const callSizesSql = `SELECT x.o::integer AS ord, sum(${bytesOf})::bigint AS bytes
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY x(s, c, o)
  JOIN @entries e ON e.session_id = x.s AND e.call_id = x.c GROUP BY x.o`;

async function readCounters(pool: PgPool, names: readonly string[]): Promise<readonly Counter[]> {
  if (names.length === 0) return [];
  const rows = await pool.read<Counter>(
    `SELECT ${exactNumbers}, coalesce(c.used, 0) AS used, coalesce(c.reserved, 0) AS reserved
     FROM unnest($1::text[]) WITH ORDINALITY x(name, o) LEFT JOIN @counters c ON c.name = x.name ORDER BY x.o`,
    [toTextArray(names.map(toPgText))],
  );
  return rows.map(({ used, reserved }) => ({ used, reserved }));
}

const cursorDialect: CursorDialect = { ...pgNames, cursors: '@cursors', owner: 'owner_id' };

/** Changes are made in the order in which they were asked for, although there are several connections. */
function createSetCursor(pool: PgPool, ownerId: string): Ledger['setCursor'] {
  const driver = createPgDriver((text, values) => pool.query(text, values));
  let last: Promise<unknown> = Promise.resolve();
  return (change) => {
    const changed = last.then(() => changeCursor(driver, cursorDialect, ownerId, change));
    last = changed.catch(() => undefined);
    return changed;
  };
}

type ArtifactRow = {
  readonly call_id: string;
  readonly mime: string;
  readonly encoding: ArtifactFacts['encoding'];
  readonly bytes: number;
  readonly hash: string;
};

const pieceBytes = 4_194_304;

const artifacts = (pool: PgPool): Pick<Ledger, 'putArtifact' | 'readArtifact'> => ({
  async putArtifact(artifact) {
    // Without the content, the result of a call that ran would be lost.
    await pool.repeat(
      `${putArtifactSql} ON CONFLICT (session_id, artifact_id) DO UPDATE SET call_id = excluded.call_id, mime = excluded.mime,
         encoding = excluded.encoding, bytes = excluded.bytes, hash = excluded.hash, content = excluded.content`,
      toArtifactValues(artifact),
    );
  },
  async readArtifact(sessionId, artifactId, range) {
    const names = [toPgText(sessionId), toPgText(artifactId)];
    const [row] = await pool.read<ArtifactRow>(
      'SELECT call_id, mime, encoding, bytes, hash FROM @artifacts WHERE session_id = $1 AND artifact_id = $2',
      names,
    );
    if (row === undefined) return undefined;
    const found = {
      mimeType: fromPgText(row.mime),
      encoding: row.encoding,
      size: row.bytes,
      callId: fromPgText(row.call_id),
    };
    if (range?.most === 0) return { ...found, bytes: new Uint8Array() };
    const read = async (from: number, most: number): Promise<Uint8Array> => {
      const [piece] = await pool.read<{ bytes: Buffer }>(
        `SELECT substring(content FROM $3::integer FOR $4::integer) AS bytes
         FROM @artifacts WHERE session_id = $1 AND artifact_id = $2`,
        [...names, from + 1, most],
      );
      return new Uint8Array(piece?.bytes ?? Buffer.alloc(0));
    };
    const sum = createHash('sha256');
    const pieces: Uint8Array[] = [];
    for (let from = 0; from < row.bytes; from += pieceBytes) {
      const piece = await read(from, pieceBytes);
      sum.update(piece);
      if (range === undefined) pieces.push(piece);
    }
    if (sum.digest('hex') !== row.hash) throw alteredError();
    return {
      ...found,
      bytes: range === undefined ? new Uint8Array(Buffer.concat(pieces)) : await read(range.from, range.most),
    };
  },
});

export const putArtifactSql = `INSERT INTO @artifacts (session_id, artifact_id, call_id, mime, encoding, bytes, hash, content)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;

export function toArtifactValues({
  sessionId,
  artifactId,
  callId,
  mimeType,
  content,
}: NewArtifact): readonly PgValue[] {
  const bytes = contentBytes(content);
  return [
    ...[sessionId, artifactId, callId, mimeType].map(toPgText),
    contentEncoding(content),
    bytes.byteLength,
    digest('sha256', bytes),
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  ];
}

const alteredError = (): QuittanceError =>
  new QuittanceError(
    'ledger.altered',
    'Another program changed the content of an artifact. `quittance verify` says which.',
    { how: 'changed' },
  );
