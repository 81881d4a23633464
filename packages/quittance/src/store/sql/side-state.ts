/**
 * The rows outside the entries that appends are checked against: claims, counters, states, unresolved effects, sealed
 * inputs, marks. A rebuild makes them again from the entries, and a copy takes those that its entries do not tell.
 */
import type { CounterTotal } from '../../ledger/claims.ts';
import type { Ids } from '../../base/ids.ts';
import { createIds } from '../../base/ids.ts';
import { totalsEntry } from '../../ledger/own-entry.ts';
import type { CopySource } from '../../ledger/retention.ts';
import { foldKey, SideFold } from '../../ledger/side-fold.ts';
import type { SessionKey } from './calls-in-order.ts';
import type { SqlDriver, SqlValue } from './driver.ts';
import { readStoredName } from './driver.ts';
import { decode, refuseDisorder } from './entries.ts';
import type { MarkDialect } from './inspect-marks.ts';
import type { SideDialect } from './side-rows.ts';

/** A table, and which of our values its columns have. A value without a column is not stored. */
type Columns<Name extends string> = {
  readonly table: string;
  readonly columns: { readonly [Each in Name]?: string };
};

export type SideStateDialect = SideDialect &
  Pick<MarkDialect, 'claimMark' | 'counterMark' | 'stateMark'> & {
    readonly stored: {
      readonly claims: Columns<'key' | 'sessionId' | 'callId' | 'digest'>;
      readonly counters: Columns<'name' | 'used' | 'reserved' | 'position'>;
      readonly unsettled: Columns<'session' | 'callId' | 'tool' | 'digest' | 'position'>;
      readonly states: Columns<'session' | 'subject' | 'version' | 'text'>;
      readonly sealed: Columns<'session' | 'callId' | 'text'>;
      readonly marks: Columns<'key' | 'position'>;
    };
    /** `position`, `text` and `bodies` of entries after a position, and at most so many. */
    readonly entriesAfter: string;
    /** `session` and `session_id` of sealed inputs, and `call_id`. */
    readonly sealedCalls: string;
    /** What stands for a session, which is made if it has no row. */
    readonly takeSession: (driver: SqlDriver, sessionId: string) => Promise<SessionKey>;
    /** Marks that only this store has. */
    readonly otherMarks: (driver: SqlDriver, fold: SideFold) => Promise<readonly Mark[]>;
    /** Appends entries that state totals, with their marks. */
    readonly stateTotals: (driver: SqlDriver, entries: readonly TotalsEntry[]) => Promise<void>;
  };

export type TotalsEntry = ReturnType<typeof totalsEntry>;
export type Mark = readonly [key: string, position: number];

/** Entries that were folded, as far as they could be read. */
export type FoldedEntries = { readonly fold: SideFold; readonly problems: string[]; position: number };

/** `hasDropped`: was a session of the ledger removed? */
export const startFold = (hasDropped: boolean): FoldedEntries => ({
  fold: new SideFold(undefined, { hasDropped }),
  problems: [],
  position: -1,
});

const entriesAtOnce = 500;
const mostNamed = 20;

/** Folds some entries after the last one. False if there are no more. */
export async function foldSome(
  driver: SqlDriver,
  { entriesAfter }: Pick<SideStateDialect, 'entriesAfter'>,
  folded: FoldedEntries,
): Promise<boolean> {
  type Row = { readonly position: number; readonly text: string; readonly bodies: string | null };
  const rows = await driver.all<Row>(entriesAfter, [folded.position, entriesAtOnce]);
  refuseDisorder(rows, folded.position);
  for (const { position, text, bodies } of rows) {
    folded.position = position;
    try {
      folded.fold.add(decode({ text, bodies }), position);
    } catch (error) {
      if (folded.problems.length < mostNamed)
        folded.problems.push(
          `The entry at position ${position} cannot be read and is skipped: ` +
            `${error instanceof Error ? error.message : String(error)}`,
        );
    }
  }
  return rows.length === entriesAtOnce;
}

/**
 * Makes the rows again, in a transaction that keeps appends away. Entries that were appended since the fold are folded
 * first.
 */
export async function rebuildSideState(
  driver: SqlDriver,
  dialect: SideStateDialect,
  folded: FoldedEntries,
  now: number,
): Promise<void> {
  while (await foldSome(driver, dialect, folded));
  const { fold } = folded;
  const { marks } = dialect.stored;
  await driver.run(`DELETE FROM ${marks.table}`);
  const due = [
    ['', 0] as const,
    ...(await dialect.otherMarks(driver, fold)),
    ...(await putClaims(driver, dialect, fold)),
    ...(await putStates(driver, dialect, fold)),
  ];
  await putUnsettled(driver, dialect, fold);
  const { stated, untold } = await putCounters(driver, dialect, fold);
  await putRows(
    driver,
    marks,
    [...due, ...stated].map(([key, position]) => ({ key, position })),
  );
  if (untold.length > 0) await dialect.stateTotals(driver, toEntries(untold, createIds()));
  await dropSealed(driver, dialect, fold, now);
}

/** Keeps entries bounded. */
const totalsPerEntry = 500;

function toEntries(totals: readonly CounterTotal[], ids: Ids): readonly TotalsEntry[] {
  const entries: TotalsEntry[] = [];
  for (let from = 0; from < totals.length; from += totalsPerEntry)
    entries.push(totalsEntry(totals.slice(from, from + totalsPerEntry), ids));
  return entries;
}

/** A claim that a removed session may have taken over stays only if its row is there. */
async function putClaims(
  driver: SqlDriver,
  dialect: SideStateDialect,
  fold: SideFold,
): Promise<readonly Mark[]> {
  const { claims } = dialect.stored;
  const found = new Set(
    (await driver.all<{ key: string }>(`SELECT key FROM ${claims.table}`)).map(({ key }) => key),
  );
  await driver.run(`DELETE FROM ${claims.table}`);
  const { toText } = dialect;
  const due = [...fold.claims].filter(([key, holder]) => found.has(toText(key)) || !fold.mayHaveLost(holder));
  await putRows(
    driver,
    claims,
    due.map(([key, { sessionId, callId, inputDigest }]) => ({
      key: toText(key),
      sessionId: toText(sessionId),
      callId: toText(callId),
      digest: toText(inputDigest),
    })),
  );
  return due.map(([key, { position }]) => [dialect.claimMark(key), position]);
}

/** A state whose entry was erased stays as it is, if it is there. */
async function putStates(
  driver: SqlDriver,
  dialect: SideStateDialect,
  fold: SideFold,
): Promise<readonly Mark[]> {
  const { states } = dialect.stored;
  const { session: sessionColumn = '', subject: subjectColumn = '' } = states.columns;
  type Row = { readonly session: SessionKey; readonly subject: string; readonly text: string };
  const rows = await driver.all<Row>(
    `SELECT ${sessionColumn} AS session, ${subjectColumn} AS subject, text FROM ${states.table}`,
  );
  const left = new Map(rows.map(({ session, subject, text }) => [JSON.stringify([session, subject]), text]));
  await driver.run(`DELETE FROM ${states.table}`);
  const due = [];
  const marks: Mark[] = [];
  for (const { sessionId, subject, version, state, position } of fold.states.values()) {
    const session = await dialect.takeSession(driver, sessionId);
    const name = dialect.toText(subject);
    const kept = state === undefined ? left.get(JSON.stringify([session, name])) : undefined;
    due.push({ session, subject: name, version, text: kept ?? JSON.stringify(state ?? {}) });
    marks.push([dialect.stateMark(session, subject), position]);
  }
  await putRows(driver, states, due);
  return marks;
}

async function putUnsettled(driver: SqlDriver, dialect: SideStateDialect, fold: SideFold): Promise<void> {
  const { stored, toText } = dialect;
  await driver.run(`DELETE FROM ${stored.unsettled.table}`);
  const due = [];
  for (const { sessionId, callId, toolName, inputDigest, position } of fold.unsettled.values())
    due.push({
      session: await dialect.takeSession(driver, sessionId),
      callId: toText(callId),
      tool: toText(toolName),
      digest: toText(inputDigest),
      position,
    });
  await putRows(driver, stored.unsettled, due);
}

/**
 * If a session was removed, its usage may be recorded only here: then a counter is only ever raised. `untold`: counters
 * with a total that their last entry does not state, so another entry must.
 */
async function putCounters(
  driver: SqlDriver,
  dialect: SideStateDialect,
  fold: SideFold,
): Promise<{ readonly stated: readonly Mark[]; readonly untold: readonly CounterTotal[] }> {
  const { counters } = dialect.stored;
  if (fold.hasDropped) await driver.run(`UPDATE ${counters.table} SET reserved = 0`);
  else await driver.run(`DELETE FROM ${counters.table}`);
  const { position } = counters.columns;
  await putRows(
    driver,
    counters,
    [...fold.counters].map(([name, { used, reserved, stated }]) => ({
      name: dialect.toText(name),
      used,
      reserved,
      position: stated?.position ?? 0,
    })),
    `ON CONFLICT (name) DO UPDATE SET used = CASE WHEN c.used > excluded.used THEN c.used ELSE excluded.used END,
       reserved = excluded.reserved${position === undefined ? '' : `, ${position} = excluded.${position}`}`,
  );
  type Row = { readonly name: string; readonly used: number; readonly reserved: number };
  const rows = await driver.all<Row>(
    `SELECT * FROM (${dialect.sideTables.counter.from}) counted ORDER BY name`,
  );
  const marks: Mark[] = [];
  const untold: CounterTotal[] = [];
  for (const { name, used, reserved } of rows) {
    const counter = readStoredName(dialect, name);
    if (counter === undefined) continue; // not written by this program
    const stated = fold.counters.get(counter)?.stated;
    if (stated?.used === used && stated.reserved === reserved)
      marks.push([dialect.counterMark(counter), stated.position]);
    else untold.push({ counter, used, reserved });
  }
  return { stated: marks, untold };
}

async function dropSealed(
  driver: SqlDriver,
  { stored: { sealed }, sealedCalls, ...names }: SideStateDialect,
  fold: SideFold,
  now: number,
): Promise<void> {
  type Row = { readonly session: SessionKey; readonly session_id: string | null; readonly call_id: string };
  const { session: sessionColumn = '', callId: callColumn = '' } = sealed.columns;
  for (const { session, session_id, call_id } of await driver.all<Row>(sealedCalls)) {
    const [sessionId, callId] = [readStoredName(names, session_id), readStoredName(names, call_id)];
    if (sessionId !== undefined && callId !== undefined && isNeeded(fold, foldKey(sessionId, callId), now))
      continue;
    await driver.run(`DELETE FROM ${sealed.table} WHERE ${sessionColumn} = ? AND ${callColumn} = ?`, [
      session,
      call_id,
    ]);
  }
}

/** For a call that is open, or that can still be undone. */
function isNeeded(fold: SideFold, key: string, now: number): boolean {
  const undoable = fold.undoable.get(key);
  if (undoable !== undefined) return undoable.until === undefined || now < undoable.until;
  const open = fold.open.get(key);
  return open?.needsSealed === true || open?.hidesFacts === true;
}

/** Replaces the rows by those of a source. The entries decide; these say what removed sessions no longer state. */
export async function takeSideRows(
  driver: SqlDriver,
  { stored, toText, takeSession }: Pick<SideStateDialect, 'stored' | 'toText' | 'fromText' | 'takeSession'>,
  source: CopySource,
): Promise<void> {
  const { claims, counters, states, sealed } = stored;
  for (const { table } of [claims, counters, states, sealed]) await driver.run(`DELETE FROM ${table}`);
  for await (const row of source.sideRows())
    switch (row.kind) {
      case 'claim': {
        const { key, sessionId, callId, inputDigest } = row;
        const names = { key: toText(key), sessionId: toText(sessionId), callId: toText(callId) };
        await putRows(driver, claims, [{ ...names, digest: toText(inputDigest) }]);
        break;
      }
      case 'counter':
        await putRows(driver, counters, [
          { name: toText(row.name), used: row.used, reserved: row.reserved, position: 0 },
        ]);
        break;
      case 'state':
        if (row.sessionId !== undefined)
          await putRows(driver, states, [
            {
              session: await takeSession(driver, row.sessionId),
              subject: toText(row.subject),
              version: row.version,
              text: row.text,
            },
          ]);
        break;
    }
  for await (const { sessionId, callId, text } of source.sealed())
    await putRows(driver, sealed, [
      { session: await takeSession(driver, sessionId), callId: toText(callId), text },
    ]);
}

/** Rows of one statement. Few different numbers, because each makes a statement of its own. */
const batches = [500, 20, 1];

/** Inserts rows, several with one statement. */
async function putRows<Name extends string>(
  driver: SqlDriver,
  { table, columns }: Columns<Name>,
  rows: readonly { readonly [Each in Name]: SqlValue }[],
  onConflict = '',
): Promise<void> {
  const chosen = Object.entries(columns) as [Name, string][]; // the type has no other names
  const places = `(${chosen.map(() => '?').join(', ')})`;
  for (let from = 0, size = 0; from < rows.length; from += size) {
    size = batches.find((most) => most <= rows.length - from) ?? 1;
    await driver.run(
      `INSERT INTO ${table} AS c (${chosen.map(([, column]) => column).join(', ')})
       VALUES ${Array.from({ length: size }, () => places).join(', ')} ${onConflict}`,
      rows.slice(from, from + size).flatMap((row) => chosen.map(([name]) => row[name])),
    );
  }
}
