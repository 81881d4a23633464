/**
 * Writes that the ledger could not take. They are recorded as `persistence.failed` once it takes writes again: before
 * the next call is made, and by a timer while no call is made.
 *
 * 1. A record changes nothing about its call: it is appended whatever the version of the call.
 * 2. A call that the ledger never knew was not accepted and is not in the ledger. Asked for again, it is stored with the
 *    records of what failed before.
 * 3. Memory is bounded: of one call and boundary the first failure is kept, and only so many in all.
 */
import type { JsonValue } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { Command } from '../call/command.ts';
import { decide } from '../call/decide.ts';
import type { CallEvent } from '../call/event.ts';
import { evolve } from '../call/evolve.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { PersistenceBoundary } from '../call/persistence-boundary.ts';
import { cutText } from '../tool/cut-text.ts';
import type { CallInHand } from './call-in-hand.ts';
import { clean } from './clean.ts';
import type { Desk } from './desk.ts';
import { keyOf } from './desk.ts';
import { foldStored } from './fold-stored.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { importSpills } from './spill.ts';

export type FailedWrite = {
  readonly call: Pick<Call, 'sessionId' | 'callId' | 'turnId'>;
  readonly depth: number | undefined;
  readonly boundary: PersistenceBoundary;
  /** Cleaned: it is written down. */
  readonly error: string;
  /** What could not be stored, in its kept form. Undefined where nothing ran. */
  readonly result?: JsonValue | undefined;
  /** A late result that has to be stored as well. */
  readonly late?: (Command & { readonly type: 'add_late' }) | undefined;
};

const mostWaiting = 1_000;

/** Those that wait to be recorded, in the order they failed. */
export class FailedWrites {
  readonly #waiting = new Map<string, FailedWrite>();
  /** Of calls the ledger does not know, by call. */
  readonly #unaccepted = new Map<string, readonly FailedWrite[]>();
  /** Called when one is added that can be recorded by itself. */
  onAdded: (() => void) | undefined;

  get size(): number {
    return this.#waiting.size;
  }

  add(write: FailedWrite): void {
    const key = `${keyOf(write.call)} ${write.boundary}${write.late === undefined ? '' : ' late'}`;
    if (this.#waiting.has(key) || this.#waiting.size >= mostWaiting) return;
    this.#waiting.set(key, write);
    this.onAdded?.();
  }

  /** Of a call that was not accepted: it is recorded when the call is asked for again. */
  addUnaccepted(write: FailedWrite): void {
    const key = keyOf(write.call);
    const before = this.#unaccepted.get(key) ?? [];
    if (before.some(({ boundary }) => boundary === write.boundary)) return;
    if (before.length === 0 && this.#unaccepted.size >= mostWaiting) return;
    this.#unaccepted.set(key, [...before, write]);
  }

  /** What is stored with a call that was not accepted before. */
  commandsFor(call: FailedWrite['call']): readonly Command[] {
    if (this.#unaccepted.size === 0) return [];
    return (this.#unaccepted.get(keyOf(call)) ?? []).map(toCommand);
  }

  /** The call is stored, and what was to be stored with it. */
  forget(call: FailedWrite['call']): void {
    if (this.#unaccepted.size > 0) this.#unaccepted.delete(keyOf(call));
  }

  entries(): readonly (readonly [key: string, write: FailedWrite])[] {
    return [...this.#waiting];
  }

  delete(key: string): void {
    this.#waiting.delete(key);
  }
}

const toCommand = ({ boundary, error, result }: FailedWrite): Command => ({
  type: 'fail_to_persist',
  boundary,
  error,
  keptIn: 'nowhere',
  ...(result !== undefined && { result }),
});

/** Notes that something of a call in hand could not be written. Anything else is a mistake of ours and stays one. */
export function noteFailedWrite(hand: CallInHand, error: unknown): void {
  if (!(error instanceof LedgerTrouble)) return;
  // Another write failed than one of these events, e.g. a decision: that is noted where it is made.
  if (hand.version > 0 && hand.unwritten.length === 0) return;
  const { failedWrites } = hand.engine;
  const write: FailedWrite = {
    call: { sessionId: hand.sessionId, callId: hand.callId, turnId: hand.turnId },
    depth: hand.turn.depth === 0 ? undefined : hand.turn.depth,
    boundary: boundaryOf(hand),
    error: cutText(clean(hand, error.message), 500),
  };
  if (hand.version === 0) failedWrites.addUnaccepted(write);
  else failedWrites.add(write);
}

/** The write that failed, by what was about to be written. */
function boundaryOf(hand: CallInHand): PersistenceBoundary {
  const types = new Set(hand.unwritten.map(({ type }) => type));
  if (types.has('tool.started')) return 'intent';
  if (types.has('tool.held')) return 'hold';
  if (types.has('confirmation.decided')) return 'decision';
  return hand.version === 0 ? 'request' : 'settle';
}

/** What a body gave, as a record of a failed write carries it. */
export function resultOf(outcome: ToolOutcome): JsonValue | undefined {
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return outcome.output;
    case 'ToolArtifactReference':
      return { artifactId: outcome.artifactId, summary: outcome.summary };
    case 'ToolFailure':
      return outcome.payloadExtras?.['output'];
    case 'ToolTimeout':
    case 'ToolDenied':
      return undefined;
  }
}

/** Records what failed before, as far as the ledger takes it. One round at a time. */
export function recordFailedWrites(desk: Desk): Promise<void> {
  desk.recording ??= recordAll(desk).finally(() => {
    desk.recording = undefined;
  });
  return desk.recording;
}

async function recordAll(desk: Desk): Promise<void> {
  const { failedWrites } = desk.engine;
  try {
    for (const [key, write] of failedWrites.entries())
      if (await record(desk, write)) failedWrites.delete(key);
  } catch (error) {
    // Still out of reach: the next call, or the timer, tries again.
    if (!(error instanceof LedgerTrouble)) throw error;
  }
}

/** False where it has to wait. */
async function record({ engine }: Desk, write: FailedWrite): Promise<boolean> {
  const { ledger, ids, nextEventId } = engine;
  const { sessionId, callId, turnId } = write.call;
  const stored = await ledger.readCall(sessionId, callId);
  let call = stored && foldStored(stored);
  // It was removed with its session.
  if (call === undefined) return true;
  const subject = { sessionId, callId, turnId, at: ledger.now(), nextId: nextEventId };
  const events: CallEvent[] = [];
  for (const command of [toCommand(write), ...(write.late === undefined ? [] : [write.late])]) {
    const made = decide(call, command, subject);
    // What became of the call meanwhile leaves no room for it.
    if (!made.ok) return true;
    call = evolve(call, made.event);
    events.push(made.event);
  }
  const { status } = await ledger.append({
    entryId: ids.next('ent'),
    sessionId,
    callId,
    expectedVersion: 'any',
    events,
    depth: write.depth,
  });
  return status === 'appended';
}

const firstDelayMs = 1_000;
const longestDelayMs = 30_000;

/** Tries again by a timer, which keeps no process alive, until everything is recorded. */
export function watchFailedWrites(desk: Desk, settleStranded: (desk: Desk) => Promise<void>): void {
  const { engine } = desk;
  let isWatching = false;
  const watch = (delayMs: number): void => {
    isWatching = true;
    engine.expiries.watch(delayMs, () => void round(delayMs));
  };
  const round = async (delayMs: number): Promise<void> => {
    isWatching = false;
    if (desk.closed) return;
    try {
      await recordFailedWrites(desk);
      await settleStranded(desk);
      if (engine.spill.waiting) await importSpills(engine);
    } catch {
      // The ledger still fails. Whoever makes the next call hears of it.
    }
    if (!desk.closed && engine.failedWrites.size > 0 && !isWatching)
      watch(Math.min(delayMs * 2, longestDelayMs));
  };
  engine.failedWrites.onAdded = () => {
    if (!isWatching && !desk.closed) watch(firstDelayMs);
  };
}
