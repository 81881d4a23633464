/**
 * Records failed writes once the ledger accepts writes again: with the next call, by a timer, and on close.
 */
import { decide } from '../call/decide.ts';
import type { CallEvent } from '../call/event.ts';
import { evolve } from '../call/evolve.ts';
import type { RuntimeState } from './runtime-state.ts';
import type { FailedWrite, RefusedWrite, Unlisted } from './ledger-trouble.ts';
import { toFailureCommand, LedgerTrouble } from './ledger-trouble.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import { importSpills } from './recall.ts';
import type { JsonValue } from '../base/json.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { PersistenceBoundary } from '../call/persistence-boundary.ts';
import { cutText } from '../base/cut-text.ts';
import type { CallContext } from './active-call.ts';
import { clean } from './call-input.ts';
import { modeOf } from './active-call.ts';
import { isQuittanceError } from '../base/error.ts';
import type { CallNotAccepted, FailedWritesUnlisted } from '../call/events/refusal-event.ts';
import type { Entry } from '../ledger/journal.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import { callKey } from './turn-state.ts';
import type { Engine } from './engine.ts';

/** Records earlier failures, as far as the ledger accepts them. One round at a time. */
export function recordFailedWrites(state: RuntimeState): Promise<void> {
  state.recording ??= recordAll(state).finally(() => {
    state.recording = undefined;
  });
  return state.recording;
}

async function recordAll(state: RuntimeState): Promise<void> {
  const { failedWrites } = state.engine;
  try {
    for (const [key, write] of failedWrites.entries())
      if (await record(state, write)) failedWrites.delete(key);
    await recordRefused(state);
  } catch (error) {
    // The ledger still fails: the next call or the timer tries again.
    if (!(error instanceof LedgerTrouble)) throw error;
  }
}

/** Returns false if the write has to wait. */
async function record({ engine }: RuntimeState, write: FailedWrite): Promise<boolean> {
  const { ledger, ids, nextEventId } = engine;
  const { sessionId, callId, turnId } = write.call;
  const stored = await ledger.readCall(sessionId, callId);
  let call = stored && foldStored(stored);
  // It was removed with its session.
  if (call === undefined) return true;
  const subject = { sessionId, callId, turnId, at: ledger.now(), nextId: nextEventId };
  const events: CallEvent[] = [];
  for (const command of [toFailureCommand(write), ...(write.late === undefined ? [] : [write.late])]) {
    const made = decide(call, command, subject);
    // The status of the call no longer allows this event.
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

/** Retries by a timer until everything is recorded. The timer does not keep the process alive. */
export function watchFailedWrites(
  state: RuntimeState,
  settlePending: (state: RuntimeState) => Promise<void>,
): void {
  const { engine } = state;
  let isWatching = false;
  const watch = (delayMs: number): void => {
    isWatching = true;
    engine.expiries.watch(delayMs, () => void round(delayMs));
  };
  const round = async (delayMs: number): Promise<void> => {
    isWatching = false;
    if (state.closed) return;
    try {
      await recordFailedWrites(state);
      await settlePending(state);
      if (engine.spill.waiting) await importSpills(engine);
    } catch {
      // The ledger still fails. The caller of the next call gets the error.
    }
    if (!state.closed && engine.failedWrites.size > 0 && !isWatching)
      watch(Math.min(delayMs * 2, longestDelayMs));
  };
  engine.failedWrites.onAdded = () => {
    if (!isWatching && !state.closed) watch(firstDelayMs);
  };
}

/** Notes that an event of an active call could not be written. Ignores other errors, which are bugs. */
export function noteFailedWrite(active: CallContext, error: unknown): void {
  if (!(error instanceof LedgerTrouble)) return;
  // The failed write was another one, e.g. a decision. The code that made it notes it.
  if (active.journal.version > 0 && active.journal.unwritten.length === 0) return;
  const { failedWrites } = active.engine;
  const of: Pick<FailedWrite, 'call' | 'depth'> = {
    call: { sessionId: active.sessionId, callId: active.callId, turnId: active.turn.turnId },
    depth: active.turn.depth === 0 ? undefined : active.turn.depth,
  };
  const failure = { boundary: boundaryOf(active), error: cutText(clean(active, error.message), 500) };
  if (active.journal.version > 0) failedWrites.add({ ...of, ...failure });
  else
    failedWrites.refuse({
      ...of,
      cause: active.turn.origin,
      refusal: {
        toolName: active.toolName,
        ...modeOf(active),
        principal: active.facts.kept.principal,
        ...failure,
        failedAt: active.engine.ledger.now(),
      },
    });
}

/** The boundary of the failed write, derived from the events that were to be written. */
function boundaryOf(active: CallContext): PersistenceBoundary {
  const types = new Set(active.journal.unwritten.map(({ type }) => type));
  if (types.has('tool.started')) return 'intent';
  if (types.has('tool.held')) return 'hold';
  if (types.has('confirmation.decided')) return 'decision';
  return active.journal.version === 0 ? 'request' : 'settle';
}

/** The result of a body, as the record of a failed write carries it. */
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

/**
 * Concurrent appends, which stores commit together. The first append runs alone to find out whether the ledger works.
 */
const mostAtOnce = 50;

/**
 * Records calls that the ledger refused and that were not repeated, as an event of their session that opens no call. A
 * write that fails is put back and retried later.
 */
async function recordRefused({ engine, callsInProgress }: RuntimeState): Promise<void> {
  const { failedWrites } = engine;
  const writes = failedWrites.takeRefused((call) => callsInProgress.has(callKey(call)));
  const failed: RefusedWrite[] = [];
  try {
    for (let atOnce = 1; writes.length > 0; atOnce = mostAtOnce) {
      const slice = writes.slice(0, atOnce);
      const recorded = await Promise.all(slice.map((write) => recordOne(engine, write)));
      writes.splice(0, slice.length);
      failed.push(...slice.filter((_, index) => recorded[index] !== true));
      if (!recorded.includes(true)) return;
    }
    const unlisted = failedWrites.takeUnlisted();
    if (unlisted !== undefined && !(await recordUnlisted(engine, unlisted))) failedWrites.count(unlisted);
  } finally {
    // Failed writes go to the end: one failing session must not delay the others.
    for (const write of [...writes, ...failed]) failedWrites.putBack(write);
  }
}

/** Returns false if it has to be retried. */
async function recordOne(engine: Engine, { call, depth, cause, refusal }: RefusedWrite): Promise<boolean> {
  const { ledger, nextEventId, failedWrites } = engine;
  const { sessionId, callId, turnId } = call;
  const event: CallNotAccepted = {
    id: nextEventId(),
    type: 'call.not_accepted',
    sessionId,
    turnId,
    at: ledger.now(),
    cause,
    refusedCallId: callId,
    ...refusal,
  };
  const recorded = await append(engine, { sessionId, events: [event], depth });
  if (recorded !== 'never') return recorded === 'now';
  const { failedAt, error } = refusal;
  failedWrites.count({ count: 1, firstAt: failedAt, lastAt: failedAt, error });
  return true;
}

async function recordUnlisted(engine: Engine, unlisted: Unlisted): Promise<boolean> {
  const event: FailedWritesUnlisted = {
    id: engine.nextEventId(),
    type: 'persistence.unlisted',
    sessionId: ledgerSessionId,
    turnId: '',
    at: engine.ledger.now(),
    cause: undefined,
    ...unlisted,
  };
  return (await append(engine, { sessionId: ledgerSessionId, events: [event] })) === 'now';
}

/** `never`: the ledger accepts no entries for this session id. */
async function append(
  { ledger, ids }: Engine,
  entry: Pick<Entry, 'sessionId' | 'events' | 'depth'>,
): Promise<'now' | 'later' | 'never'> {
  try {
    const { status } = await ledger.append({
      entryId: ids.next('ent'),
      callId: undefined,
      expectedVersion: 0,
      ...entry,
    });
    return status === 'appended' ? 'now' : 'later';
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    return isQuittanceError(error.cause, 'config.invalid') ? 'never' : 'later';
  }
}
