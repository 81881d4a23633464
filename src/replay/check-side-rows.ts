/**
 * Compares the derived data with the entries: claims, counters, states, unresolved effects, sealed inputs, artifacts.
 * It compares the rows themselves, because the ledger's queries overrule a changed row by the entries.
 */
import { canonicalJson } from '../base/canonical.ts';
import { isQuittanceError } from '../base/error.ts';
import type { JsonObject } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import type { SideRow } from '../ledger/side-row.ts';
import type { SideFold } from '../ledger/side-fold.ts';
import { foldKey } from '../ledger/side-fold.ts';
import { readJsonText } from '../base/json-text.ts';
import type { ClaimHolder, Counter } from '../ledger/claims.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { findOrphanRows, idOf, quoteId, sideSubjectsOf } from './side-subjects.ts';
import type { SideRowProblem, Subject } from './side-row-problem.ts';

/** Other processes may append between reading the entries and the check; then it is repeated. */
const mostLooks = 5;

/** `catchUp` adds the entries appended since its last call to the fold. */
export async function* checkSideRows(
  ledger: Ledger,
  fold: SideFold,
  catchUp: () => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<SideRowProblem, void, undefined> {
  await catchUp();
  const problems = await compareRows(ledger, fold, signal);
  for (let looks = 1; problems.size > 0 && looks < mostLooks && !signal.aborted; looks++) {
    await catchUp();
    const now = await compareRows(ledger, fold, signal);
    for (const id of problems.keys()) if (!now.has(id)) problems.delete(id);
  }
  if (signal.aborted) return;
  yield* problems.values();
  const orphans = new Set<string>();
  for await (const { look, ...place } of sideSubjectsOf(ledger, fold, orphans)) {
    if (signal.aborted) return;
    let message = await lookSafely(look);
    for (let looks = 1; message !== undefined && looks < mostLooks; looks++) {
      await catchUp();
      message = await lookSafely(look);
    }
    if (message !== undefined) yield { ...place, message };
  }
  yield* findOrphanRows(ledger, orphans, signal);
}

/** An unreadable value was not written by the ledger. */
async function lookSafely(look: Subject['look']): Promise<string | undefined> {
  try {
    return await look();
  } catch (error) {
    if (isQuittanceError(error, 'ledger.damaged')) return error.message;
    if (isUnreadable(error)) return 'Derived data differs from what was written.';
    throw error;
  }
}

/** Values of unexpected types can break readers in any way. */
const isUnreadable = (error: unknown): boolean =>
  error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError;

/** Compares claims, counters, states and unresolved effects with the fold, row by row. */
async function compareRows(
  ledger: Ledger,
  fold: SideFold,
  signal: AbortSignal,
): Promise<Map<string, SideRowProblem>> {
  const problems = new Map<string, SideRowProblem>();
  const seen = new Set<string>();
  const look = (
    id: string,
    place: Omit<SideRowProblem, 'message' | 'level'>,
    message: string | undefined,
  ): void => {
    if (seen.has(id)) message ??= 'The same derived row exists twice.';
    seen.add(id);
    if (message !== undefined) problems.set(id, { level: 'problem', ...place, message });
  };
  for await (const row of ledger.integrity.readSideRows()) {
    if (signal.aborted) break;
    switch (row.kind) {
      case 'claim':
        look(idOf('claim', row.key), placeOf(fold.claims.get(row.key)), compareClaim(row, fold));
        break;
      case 'counter':
        look(idOf('counter', row.name), {}, compareCounter(row, fold));
        break;
      case 'state':
        if (row.sessionId !== undefined)
          look(
            idOf('state', row.sessionId, row.subject),
            { sessionId: row.sessionId },
            compareState({ ...row, sessionId: row.sessionId }, fold),
          );
        break;
      case 'unsettled':
        if (row.sessionId !== undefined)
          look(
            idOf('unsettled', row.sessionId, row.callId),
            { sessionId: row.sessionId, callId: row.callId },
            compareEffect({ ...row, sessionId: row.sessionId }, fold),
          );
        break;
      case 'sealed':
      case 'artifact':
        break; // checked one by one: see `sideSubjectsOf`
    }
  }
  for (const [key, due] of fold.claims)
    if (!seen.has(idOf('claim', key)) && !fold.mayHaveLost(due))
      look(idOf('claim', key), placeOf(due), 'The call owns an idempotency key, but its claim is missing.');
  for (const [name, due] of fold.counters)
    if (!seen.has(idOf('counter', name)))
      look(idOf('counter', name), {}, compareCounter({ name, used: 0, reserved: 0 }, fold, due));
  for (const { sessionId, subject } of fold.states.values())
    if (!seen.has(idOf('state', sessionId, subject)))
      look(idOf('state', sessionId, subject), { sessionId }, otherVersion(subject));
  for (const { sessionId, callId } of fold.unsettled.values())
    if (!seen.has(idOf('unsettled', sessionId, callId)))
      look(
        idOf('unsettled', sessionId, callId),
        { sessionId, callId },
        'The call is unresolved, but it is not listed as such.',
      );
  return problems;
}

const placeOf = (holder: ClaimHolder | undefined): Omit<SideRowProblem, 'message' | 'level'> =>
  holder === undefined ? {} : { sessionId: holder.sessionId, callId: holder.callId };

function compareClaim(row: SideRow & { kind: 'claim' }, fold: SideFold): string | undefined {
  const due = fold.claims.get(row.key);
  if (due === undefined)
    return `Call ${quoteId(row.callId)} owns an idempotency key that no entry gives to it.`;
  return row.sessionId === due.sessionId && row.callId === due.callId && row.inputDigest === due.inputDigest
    ? undefined
    : "The claim on the call's idempotency key names another call or another input.";
}

function compareCounter(
  { name, used, reserved }: Counter & { readonly name: string },
  fold: SideFold,
  due: Counter = fold.counterOf(name),
): string | undefined {
  // The usage of a dropped session is no longer in any entry.
  const isUsed = fold.hasDropped ? used >= due.used : used === due.used;
  if (isUsed && reserved === due.reserved) return undefined;
  return (
    `The counter ${quoteId(name)} says ${used} used and ${reserved} reserved; the entries give ` +
    `${due.used} and ${due.reserved}.`
  );
}

function compareEffect(
  row: SideRow & { kind: 'unsettled' } & { readonly sessionId: string },
  fold: SideFold,
): string | undefined {
  const due = fold.unsettled.get(foldKey(row.sessionId, row.callId));
  return due?.toolName === row.toolName && due.inputDigest === row.inputDigest
    ? undefined
    : 'The calls listed as unresolved are not those in the entries.';
}

function compareState(
  row: SideRow & { kind: 'state' } & { readonly sessionId: string },
  fold: SideFold,
): string | undefined {
  const due = fold.states.get(foldKey(row.sessionId, row.subject));
  if (row.version !== due?.version) return otherVersion(row.subject);
  if (due.state === undefined) return undefined;
  return isJsonOf(row.text, due.state)
    ? undefined
    : `The state of ${quoteId(row.subject)} differs from the entries.`;
}

const otherVersion = (subject: string): string =>
  `The state of ${quoteId(subject)} has another version than the entries.`;

function isJsonOf(text: string, due: JsonObject): boolean {
  try {
    const found = readJsonText(text);
    return isJsonObject(found) && canonicalJson(found) === canonicalJson(due);
  } catch {
    return false; // not JSON, so not written by the ledger
  }
}
