/**
 * Recall: a known call is answered from its record and never made again. Also the answers while the ledger fails, the calls
 * whose end could not be stored yet, and the import of spill files.
 */
import type { Call } from '../call/call.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { StoredCall, Entry } from '../ledger/journal.ts';
import type { ActiveCall, CallContext, CallRef } from './active-call.ts';
import { modelNote, recallNotes } from './active-call.ts';
import { foldStored, isCallEvent } from '../ledger/fold-stored.ts';
import { isDigestOf } from './call-input.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import type { OrphanEnd, Engine } from './engine.ts';
import type { CallReply } from './call-reply.ts';
import { openQuestion } from './call-reply.ts';
import { awaitOtherProcess } from './runtime-state.ts';
import type { RuntimeState } from './runtime-state.ts';
import { isHandoff } from '../call/call.ts';
import { inDoubt } from './judgement.ts';
import { QuittanceError } from '../base/error.ts';
import { foldCall } from '../call/evolve.ts';

/**
 * Returns the outcome of a settled call, the question of a held call, or the end of a call that another
 * process is making.
 */
export async function recall(active: ActiveCall, known: StoredCall): Promise<CallReply> {
  const found = await settledOrOpen(active, known);
  if (found.type !== 'held') return found;
  const { context } = active;
  const rest = (found.rest ?? follow(active, found.stored)).catch((error: unknown) =>
    notAccepted(context, error),
  );
  const { type, confirmationId, waitsFor } = found;
  return { type, confirmationId, ...(waitsFor !== undefined && { waitsFor }), rest };
}

/** The outcome of a call that another process is making. */
export async function follow(active: ActiveCall, known: StoredCall): Promise<ToolOutcome> {
  let found = await settledOrOpen(active, known);
  while (found.type === 'held') {
    if (found.rest !== undefined) return found.rest;
    const stored = await readChanged(active, found.stored);
    if (stored === undefined) return removedEnd(active);
    found = await settledOrOpen(active, stored);
  }
  return found;
}

type Open = {
  readonly type: 'held';
  readonly confirmationId: string | undefined;
  readonly waitsFor?: string;
  readonly stored: StoredCall;
  /** Set if the owner is gone and this process now holds the call: resolves with the outcome. */
  readonly rest?: Promise<ToolOutcome>;
};

async function settledOrOpen(active: ActiveCall, known: StoredCall): Promise<ToolOutcome | Open> {
  const { request } = active;
  let stored = known;
  for (;;) {
    const call = foldStored(stored);
    if (call === undefined) throw new TypeError(`The ledger has a call ${request.id} without a request.`);
    if (call.toolName !== request.name || !isSameRequest(active, call)) return conflict(active, call);
    if (call.settled !== undefined) {
      await note(active, call, 'cached', 'The recorded outcome was served again.');
      return withResolution(call, call.settled.outcome);
    }
    const ended = await endOrphan(active, stored, call);
    if (ended.type === 'held') return { ...ended, stored };
    if (ended.type === 'told') return ended.outcome;
    if (ended.type === 'ended') {
      const next = await active.engine.ledger.readCall(call.sessionId, call.callId);
      if (next === undefined) return removedEnd(active);
      stored = next;
      continue;
    }
    return { type: 'held', ...(openQuestion(call) ?? { confirmationId: undefined }), stored };
  }
}

/** The recorded digest may be of the other kind, because the caller's facts determine what is hidden. */
const isSameRequest = ({ request, requested, engine }: ActiveCall, { requestDigest }: Call): boolean =>
  requestDigest === requested.digest ||
  isDigestOf(requestDigest, request.input.ok ? request.input.arguments : request.input.raw, engine.seal);

/**
 * Ends the call if its owner is gone. If the ledger cannot store that end, the answer must not contradict the
 * later record: "nothing ran" would be wrong and would invite a rerun.
 */
async function endOrphan(
  active: ActiveCall,
  stored: StoredCall,
  call: Call,
): Promise<OrphanEnd | { readonly type: 'told'; readonly outcome: ToolOutcome }> {
  const { engine, services } = active;
  try {
    return await services.endOrphan(stored, call, 'of the call');
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    const waiting = await readWaiting(engine, call, stored);
    return {
      type: 'told',
      outcome:
        waiting?.settled?.outcome ?? notEnded({ ...active, notes: recallNotes(stored, call) }, call, error),
    };
  }
}

/** The recorded outcome, with a note about the later resolution. */
function withResolution({ resolution }: Call, outcome: ToolOutcome): ToolOutcome {
  if (resolution === undefined) return outcome;
  const found = {
    succeeded: 'it took effect',
    failed: 'it did not take effect',
    safe_to_retry: 'it may be asked for again',
  }[resolution.resolution];
  const result = resolution.result === undefined ? '' : ` Result: ${JSON.stringify(resolution.result)}`;
  const modelNote = `${outcome.modelNote === undefined ? '' : `${outcome.modelNote} `}Found out since: ${found}.${result}`;
  return Object.freeze({ ...outcome, modelNote });
}

/** Undefined if the call ended and was removed before this process read it. */
async function readChanged(active: ActiveCall, stored: StoredCall): Promise<StoredCall | undefined> {
  const { engine, turn, request } = active;
  const call = foldStored(stored);
  if (call !== undefined) await awaitOtherProcess(active, call, stored, 'of the call');
  return engine.ledger.readCall(turn.sessionId, request.id);
}

/** Answers a request whose id belongs to another call. Never returns that call's outcome. */
async function conflict(active: ActiveCall, call: Call): Promise<ToolOutcome> {
  const { request } = active;
  const details = active.engine.redactor.text(
    call.toolName === request.name
      ? `Nothing ran: the id ${request.id} belongs to an earlier call of this tool with other arguments. Make the call again as a new call.`
      : `Nothing ran: the id ${request.id} belongs to an earlier call of the tool "${call.toolName}". Make the call again as a new call.`,
  );
  await note(active, call, 'conflict', details);
  return Object.freeze({
    type: 'ToolDenied',
    callId: request.id,
    toolName: request.name,
    code: 'call.conflict',
    reason: 'conflict',
    details,
  });
}

async function note(
  active: ActiveCall,
  call: Call,
  how: 'cached' | 'conflict',
  details: string,
): Promise<void> {
  active.journal.rebase(call);
  try {
    await active.journal.remark({ type: 'recall', how, fromCallId: call.callId, details });
  } catch (error) {
    // The recorded outcome is still the answer. "Nothing ran" would be wrong and would invite a rerun.
    if (!(error instanceof LedgerTrouble)) throw error;
  }
}

/**
 * Retries to settle the calls whose end the ledger could not store. Only this process knows their progress, so it holds
 * them. A call whose body ran is settled before the next call is made. Any other continues when it is repeated. One round
 * at a time.
 */
export function settlePending(state: RuntimeState): Promise<void> {
  state.settling ??= settleAll(state).finally(() => {
    state.settling = undefined;
  });
  return state.settling;
}

async function settleAll({ pendingSettlements }: RuntimeState): Promise<void> {
  for (const [key, { context }] of pendingSettlements) {
    const { journal } = context;
    await journal.unkept?.settle();
    if (journal.call?.status === 'settled') pendingSettlements.delete(key);
  }
}

/**
 * The outcome if the ledger could not store the call. Nothing ran and nothing is stored, so the same id may
 * be used again.
 */
const unavailable = ({ callId, toolName }: CallContext, why: string): ToolOutcome =>
  Object.freeze({
    type: 'ToolFailure',
    callId,
    toolName,
    code: 'ledger.unavailable',
    error: `The ledger could not be used, so the call was not accepted and nothing ran: ${why}`,
    retryable: true,
    elapsedMs: 0,
  });

/** The outcome if the ledger could not be asked whether this id was called before: an earlier request may have run. */
const notRecalled = ({ callId, toolName }: CallContext, why: string): ToolOutcome =>
  Object.freeze({
    type: 'ToolFailure',
    callId,
    toolName,
    code: 'ledger.unavailable',
    error:
      'The ledger could not be used, so it is not known whether this call was made before. This request ran ' +
      `nothing. Ask again with the same id: ${why}`,
    retryable: true,
    elapsedMs: 0,
  });

/**
 * The outcome if a body ran, neither the ledger nor the spill file could store its end, and the tool may run
 * again. No ledger holds an outcome, so the same id may be used again.
 */
export const notStored = ({ request }: ActiveCall, why: string): ToolOutcome =>
  Object.freeze({
    type: 'ToolFailure',
    callId: request.id,
    toolName: request.name,
    code: 'ledger.unavailable',
    error: `The result of the call could not be stored, so the call was not accepted. Ask again with the same id: ${why}`,
    retryable: true,
    elapsedMs: 0,
  });

/**
 * The text for a process that ended and for one that could not store the end. Both use the same text, so that the answer
 * matches the record of any process.
 */
export const endNotRecorded = 'The tool was started and its end was not recorded';

/** The outcome of a call whose owner was gone before its body ended, if its effect cannot be determined. */
export const unknownEnd = (
  active: ActiveCall,
  notes: readonly string[] = active.notes,
  why: string = endNotRecorded,
): ToolOutcome =>
  Object.freeze({
    type: 'ToolFailure',
    callId: active.request.id,
    toolName: active.request.name,
    code: 'tool.indeterminate',
    error: `${why}.`,
    ...inDoubt(false),
    elapsedMs: 0,
    ...modelNote(notes),
  });

/** The outcome for a caller whose call ended and was removed with its session before it could be read. */
export const removedEnd = (active: ActiveCall): ToolOutcome =>
  unknownEnd(active, [], 'The call ended and its session was removed from the ledger meanwhile');

/**
 * The answer about a call whose owner is gone while nothing can be written. It must agree with what is
 * recorded later. If recovery can only ever say that the effect is unknown, the answer says so now, in the
 * same words. If the tool may run again or can be asked, the answer leaves the end open and the same id may
 * be used again.
 */
export function notEnded(active: ActiveCall, call: Call, error: unknown): ToolOutcome {
  if (!(error instanceof LedgerTrouble)) throw error;
  const { started } = call;
  if (started === undefined) return unavailable(active, error.message);
  // A hand-off may still end by a report, by its lease or by its deadline.
  if (!started.mayRerun && active.tool?.reconcile === undefined && !isHandoff(call))
    return unknownEnd(active);
  const { callId } = call;
  const problem = 'so the end of the call, which another process started, is not known yet';
  return endNotKnown({ callId, toolName: active.request.name }, started, problem, error);
}

/** The answer about a call whose end is not known, and which may be asked for again with the same id. */
const endNotKnown = (
  { callId, toolName }: Pick<CallContext, 'callId' | 'toolName'>,
  { mayRerun }: NonNullable<Call['started']>,
  problem: string,
  error: LedgerTrouble,
): ToolOutcome =>
  Object.freeze({
    type: 'ToolFailure',
    callId,
    toolName,
    code: 'ledger.unavailable',
    error: `The ledger could not be used, ${problem}. Ask again with the same id: ${error.message}`,
    ...(mayRerun ? { retryable: true } : inDoubt(true)),
    elapsedMs: 0,
  });

/** The answer if the ledger failed before anything ran. Any other error is a bug and is rethrown. */
export function notAccepted(active: CallContext, error: unknown): ToolOutcome {
  if (!(error instanceof LedgerTrouble)) throw error;
  const { call } = active.journal;
  if (call === undefined) return notRecalled(active, error.message);
  // The ledger may have stored the start of a hand-off although the append failed. Then a worker may have claimed it.
  if (call?.started !== undefined && isHandoff(call))
    return endNotKnown(active, call.started, 'so it is not known whether a worker has the call', error);
  return unavailable(active, error.message);
}

/**
 * Appends waiting spilled entries, and checks that there is room for one more. If the ledger cannot store the end of a call,
 * the end goes to the owner's spill file. Without room there, no intent is written, because an end could not be guaranteed.
 */
export async function requireSpill(engine: Engine): Promise<void> {
  if (engine.spill.waiting) await importSpills(engine);
  if ((await engine.ledger.spill.canWrite()) === false)
    throw new LedgerTrouble(
      'no spill file could be prepared to hold a result if the ledger fails; check free space and permissions in the folder of the ledger',
    );
}

/** Appends the spilled entries of dead owners and of this one. Returns their number. */
export async function importSpills({ ledger, spill }: Engine): Promise<number> {
  let imported = 0;
  // Reset first: an entry spilled meanwhile sets it again.
  spill.waiting = false;
  try {
    for (const { ownerId, entries } of await ledger.spill.read()) {
      for (const entry of entries) {
        // `conflict` means that the entry is already stored, or that its call has another outcome.
        const result = await ledger.append(entry);
        const { status } = result;
        if (result.status === 'conflict' && isOlder(result.version, entry))
          throw new LedgerTrouble(olderError(entry));
        // Another process has changed a shared state since. The outcome still counts.
        if (status === 'moved') await ledger.append({ ...entry, moves: undefined });
        imported++;
      }
      if (!(await ledger.spill.drop(ownerId, entries.at(-1)?.entryId))) spill.waiting = true;
    }
  } catch (error) {
    spill.waiting = true;
    throw error;
  }
  return imported;
}

/** True if the ledger lacks earlier entries of the call. Versions only grow, so the ledger was restored from a backup. */
const isOlder = (version: number, { expectedVersion }: Entry): boolean =>
  typeof expectedVersion === 'number' && version < expectedVersion;

const olderError = ({ sessionId, callId = '' }: Entry): QuittanceError =>
  new QuittanceError(
    'ledger.damaged',
    `The ledger is older than its spilled results: one is about call ${JSON.stringify(callId)} of session ` +
      `${JSON.stringify(sessionId)}, and the ledger lacks the entries before it. It was restored from an older backup. No call is ` +
      'made, because calls that ran since then could run again, and the results stay in the spill folder. Put the newest ' +
      'ledger back. To go on with this one on purpose, move the spill folder away.',
    { sessionId },
  );

/** The call with its waiting entry applied. Undefined if none waits. */
export async function readWaiting(
  { ledger }: Engine,
  { sessionId, callId }: CallRef,
  stored: StoredCall | undefined,
): Promise<Call | undefined> {
  for (const { entries } of await ledger.spill.read())
    for (const entry of entries)
      if (
        entry.sessionId === sessionId &&
        entry.callId === callId &&
        entry.expectedVersion === (stored?.version ?? 0)
      )
        return foldCall([...(stored?.events ?? []), ...entry.events].filter(isCallEvent));
  return undefined;
}
