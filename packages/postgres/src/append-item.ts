/** An entry as the append function takes it: one value per column, and the rest as one JSON text. */
import type { JsonObject } from 'quittance/internal/base/json';
import { isEmittedEvent } from 'quittance/internal/call/emitted-event';
import type { ToolResponded } from 'quittance/internal/call/event';
import { quoteText } from 'quittance/internal/ledger/formats/v1/quote-text';
import { writeEntry } from 'quittance/internal/ledger/formats/v1/write-entry';
import type { Entry, AppendResult } from 'quittance/internal/ledger/journal';
import { lastState } from 'quittance/internal/ledger/last-state';
import { clearsUnsettledEffect, leavesUnsettledEffect } from 'quittance/internal/ledger/prepare-entry';
import { toPgText, fromPgText } from './pg-values.ts';
import { QuittanceError } from 'quittance/internal/base/error';
import { readEntry } from 'quittance/internal/ledger/formats/v1/read-entry';

/** A tool and an input of it. */
export type Effect = { readonly toolName: string; readonly inputDigest: string };

export type AppendItem = {
  readonly session: string;
  readonly call: string | null;
  /** The version the call must have; -1 for a remark; null where the entry is about no call. */
  readonly expected: number | null;
  readonly text: string;
  readonly bodies: string | null;
  readonly salt: string | null;
  /** An effect that must not be unsettled: see `EffectGuesses`. More than one is in the extras. */
  readonly tool: string | null;
  readonly digest: string | null;
  readonly extras: string | null;
  /** What the lists show of the call, see `list-functions.ts`; null for an entry that changes no row. */
  readonly listed: string | null;
  /** The entries of the call that the row was made of: see `append-functions.ts`. Null without a row. */
  readonly seen: string | null;
  /** The times of the entry, and what it changes about the counts of the session. */
  readonly counts: string;
  readonly counters: readonly CounterName[];
  readonly keys: readonly string[];
  /** How the text of this entry begins, and of no other. */
  readonly prefix: string;
};

export type Listing = Pick<AppendItem, 'listed' | 'seen' | 'counts'>;

const remark = -1;

/**
 * `digest`: of the input of a call that this entry leaves in doubt, see `findDoubt`. `guesses`: effects that must not be
 * unsettled.
 */
export function toAppendItem(
  entry: Entry,
  ownerId: string,
  salt: () => string,
  digest: string | undefined,
  guesses: readonly Effect[],
  listing: Listing,
): AppendItem {
  const { sessionId, callId, expectedVersion } = entry;
  const written = writeEntry(entry, ownerId, salt);
  const extras = toExtras(entry, digest);
  const hasExtras = Object.keys(extras).length > 0 || expectedVersion === 'any';
  const [guess, ...others] = hasExtras ? [] : guesses;
  return {
    session: toPgText(sessionId),
    call: callId === undefined ? null : toPgText(callId),
    expected: callId === undefined ? null : expectedVersion === 'any' ? remark : expectedVersion,
    text: written.text,
    bodies: written.bodies ?? null,
    salt: written.salt ?? null,
    // A remark needs the version that its call has: the function looks it up only when it goes item by item.
    extras: hasExtras || others.length > 0 ? JSON.stringify({ ...extras, ...toGuesses(guesses) }) : null,
    tool: guess === undefined ? null : toPgText(guess.toolName),
    digest: guess === undefined ? null : toPgText(guess.inputDigest),
    ...listing,
    counters: [...(entry.reserve ?? []), ...(entry.settle ?? [])].map(({ counter }) => counterName(counter)),
    keys: [entry.claim?.key, entry.releaseClaim].flatMap((key) => (key === undefined ? [] : [toPgText(key)])),
    prefix: `{"v":1,"entry":${quoteText(entry.entryId)},`,
  };
}

const toGuesses = (guesses: readonly Effect[]): JsonObject =>
  guesses.length === 0
    ? {}
    : {
        guesses: guesses.map(({ toolName, inputDigest }) => ({
          tool: toPgText(toolName),
          digest: toPgText(inputDigest),
        })),
      };

/** The event that leaves the effect of its call in doubt, if the entry has one. */
export const findDoubt = ({ events }: Entry): ToolResponded | undefined =>
  events.find((event): event is ToolResponded => !isEmittedEvent(event) && leavesUnsettledEffect(event));

function toExtras(entry: Entry, digest: string | undefined): JsonObject {
  const { claim, releaseClaim, reserve, settle, moves, guards, cursor, sealed, dropSealed } = entry;
  const doubt = digest === undefined ? undefined : findDoubt(entry);
  const clears = entry.events.some((event) => !isEmittedEvent(event) && clearsUnsettledEffect(event));
  return {
    ...(claim && {
      claim: {
        key: toPgText(claim.key),
        quoted: quoteText(claim.key),
        digest: toPgText(claim.inputDigest),
        ...(claim.supersedes && {
          overSession: toPgText(claim.supersedes.sessionId),
          overCall: toPgText(claim.supersedes.callId),
        }),
      },
    }),
    ...(releaseClaim !== undefined && { release: toPgText(releaseClaim) }),
    ...(reserve && {
      reserve: reserve.map(({ counter, amount, limit }) => ({ ...counterName(counter), amount, limit })),
    }),
    ...(settle && {
      settle: settle.map(({ counter, reserved, used, reset }) => ({
        ...counterName(counter),
        reserved,
        used,
        ...(reset === true && { reset }),
      })),
    }),
    ...(moves && {
      moves: moves.map(({ subject, expectedVersion }) => ({
        subject: toPgText(subject),
        quoted: quoteText(subject),
        version: expectedVersion,
        state: JSON.stringify(lastState(entry.events, subject)),
      })),
    }),
    ...(guards && {
      guards: guards.map(({ subject, expectedVersion }) => ({
        subject: toPgText(subject),
        quoted: quoteText(subject),
        version: expectedVersion,
      })),
    }),
    ...(cursor && {
      cursor: {
        name: toPgText(cursor.name),
        holder: toPgText(cursor.holder),
        from: cursor.from,
        to: cursor.to,
      },
    }),
    ...(sealed !== undefined && { sealed: toPgText(sealed) }),
    ...(dropSealed === true && { dropSealed }),
    ...(doubt &&
      digest !== undefined && {
        doubt: { tool: toPgText(doubt.outcome.toolName), digest: toPgText(digest) },
      }),
    ...(clears && { clears }),
  };
}

/** `quoted` becomes part of the hashed text, in which the counter has its own name. */
type CounterName = { readonly name: string; readonly quoted: string };
const counterName = (counter: string): CounterName => ({
  name: toPgText(counter),
  quoted: quoteText(counter),
});

/** The answer of the append function to one item. */

/** `unsettled`: a guess was wrong, see `EffectGuesses`. `unseen`: the call has entries that the row was not made of. */
export type Appended = {
  readonly result: AppendResult | { readonly status: 'unsettled' } | { readonly status: 'unseen' };
  readonly position: number;
};

/** JSON: a number if all items were appended, namely the position of the first. Otherwise a `ResultRow` for each item. */
export type AnswerRow = { readonly answer: string };

type ResultRow = {
  readonly ord: number;
  readonly status: Appended['result']['status'];
  readonly version: number;
  readonly detail: string | null;
  readonly at: number;
};

/** The position of the first item if all were appended, or the result of each. */
export function readAnswers(answers: readonly AnswerRow[]): number | readonly ResultRow[] {
  // Written by the append function.
  const read = answers.map(({ answer }) => JSON.parse(answer) as ResultRow | number);
  const [first] = read;
  return typeof first === 'number' ? first : (read as ResultRow[]);
}

export function toAppendResult({ status, version, detail }: ResultRow): Appended['result'] {
  switch (status) {
    case 'unsettled':
    case 'unseen':
      return { status };
    case 'appended':
    case 'conflict':
      return { status, version };
    case 'moved':
      return { status, subject: fromPgText(detail ?? ''), version };
    case 'claimed': {
      const holder = parseDetail<{
        session: string;
        call: string;
        digest: string | null;
        entry: string | null;
      }>(detail);
      return {
        status,
        holder: {
          sessionId: fromPgText(holder.session),
          callId: fromPgText(holder.call),
          inputDigest: claimedDigest(holder),
        },
      };
    }
    case 'displaced': {
      const { holder, position } = parseDetail<{ holder: string | null; position: number }>(detail);
      return { status, holder: holder === null ? undefined : fromPgText(holder), position };
    }
    case 'exhausted': {
      const { counter, used } = parseDetail<{ counter: string; used: number }>(detail);
      return { status, counter: fromPgText(counter), used };
    }
    default:
      throw new QuittanceError('ledger.damaged', `The append function answered ${String(status)}.`);
  }
}

/** According to the entry of the claim, or else to its row: see `append-functions.ts`. */
export function claimedDigest({ entry, digest }: { entry: string | null; digest: string | null }): string {
  if (entry === null) return fromPgText(digest ?? '');
  return readEntry({ text: entry, bodies: undefined }).claim?.inputDigest ?? '';
}

/** The function wrote it with these members. */
const parseDetail = <Detail>(detail: string | null): Detail => JSON.parse(detail ?? '{}') as Detail;
