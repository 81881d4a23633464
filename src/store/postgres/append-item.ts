/** An entry as the append function takes it: one value per column, and the rest as one JSON text. */
import type { JsonObject } from '../../base/json.ts';
import { isEmittedEvent } from '../../call/emitted-event.ts';
import type { ToolResponded } from '../../call/event.ts';
import { quoteText } from '../../ledger/formats/v1/quote-text.ts';
import { writeEntry } from '../../ledger/formats/v1/write-entry.ts';
import type { Entry } from '../../ledger/journal.ts';
import { lastState } from '../../ledger/last-state.ts';
import { clearsUnsettledEffect, leavesUnsettledEffect } from '../../ledger/unsettled-effect.ts';
import type { Effect } from './effect-guesses.ts';
import { toPgText } from './pg-text.ts';

export type AppendItem = {
  readonly session: string;
  readonly call: string | null;
  /** The version the call must have; -1 for a remark; null where the entry is about no call. */
  readonly expected: number | null;
  readonly text: string;
  readonly bodies: string | null;
  readonly salt: string | null;
  /** An effect that must not be unsettled: see `effect-guesses.ts`. More than one is in the extras. */
  readonly tool: string | null;
  readonly digest: string | null;
  readonly extras: string | null;
  readonly counters: readonly CounterName[];
  readonly keys: readonly string[];
  /** How the text of this entry begins, and of no other. */
  readonly prefix: string;
};

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
