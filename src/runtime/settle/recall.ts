/** Recall: a known call is answered from its record and never made again. */
import type { Call } from '../../call/call.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { isDigestOf } from '../input/kept-input.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import { readWaiting } from '../state/spill.ts';
import type { OrphanEnd } from '../state/call-services.ts';
import type { CallReply } from '../state/call-reply.ts';
import { openQuestion } from '../state/call-reply.ts';
import { notAccepted, notEnded, removedEnd } from './unavailable.ts';
import { awaitOtherProcess } from '../state/await-other-process.ts';

/**
 * Returns the outcome of a settled call, the question of a held call, or the end of a call that another
 * process is making.
 */
export async function recall(live: AcceptedCall, known: StoredCall): Promise<CallReply> {
  const found = await settledOrOpen(live, known);
  if (found.type !== 'held') return found;
  const rest = (found.rest ?? follow(live, found.stored)).catch((error: unknown) => notAccepted(live, error));
  const { type, confirmationId, waitsFor } = found;
  return { type, confirmationId, ...(waitsFor !== undefined && { waitsFor }), rest };
}

/** The outcome of a call that another process is making. */
export async function follow(live: AcceptedCall, known: StoredCall): Promise<ToolOutcome> {
  let found = await settledOrOpen(live, known);
  while (found.type === 'held') {
    if (found.rest !== undefined) return found.rest;
    const stored = await readChanged(live, found.stored);
    if (stored === undefined) return removedEnd(live);
    found = await settledOrOpen(live, stored);
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

async function settledOrOpen(live: AcceptedCall, known: StoredCall): Promise<ToolOutcome | Open> {
  const { request } = live;
  let stored = known;
  for (;;) {
    const call = foldStored(stored);
    if (call === undefined) throw new TypeError(`The ledger has a call ${request.id} without a request.`);
    if (call.toolName !== request.name || !isSameRequest(live, call)) return conflict(live, call);
    if (call.settled !== undefined) {
      await note(live, call, 'cached', 'The recorded outcome was served again.');
      return withResolution(call, call.settled.outcome);
    }
    const ended = await endOrphan(live, stored, call);
    if (ended.type === 'held') return { ...ended, stored };
    if (ended.type === 'told') return ended.outcome;
    if (ended.type === 'ended') {
      const next = await live.engine.ledger.journal.readCall(call.sessionId, call.callId);
      if (next === undefined) return removedEnd(live);
      stored = next;
      continue;
    }
    return { type: 'held', ...(openQuestion(call) ?? { confirmationId: undefined }), stored };
  }
}

/** The recorded digest may be of the other kind, because the caller's facts determine what is hidden. */
const isSameRequest = ({ request, requested, engine }: AcceptedCall, { requestDigest }: Call): boolean =>
  requestDigest === requested.digest ||
  isDigestOf(requestDigest, request.input.ok ? request.input.arguments : request.input.raw, engine.seal);

/**
 * Ends the call if its owner is gone. If the ledger cannot store that end, the answer must not contradict the
 * later record: "nothing ran" would be wrong and would invite a rerun.
 */
async function endOrphan(
  live: AcceptedCall,
  stored: StoredCall,
  call: Call,
): Promise<OrphanEnd | { readonly type: 'told'; readonly outcome: ToolOutcome }> {
  const { engine, services } = live;
  try {
    return await services.endOrphan(stored, call, 'of the call');
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    const waiting = await readWaiting(engine, call, stored);
    return { type: 'told', outcome: waiting?.settled?.outcome ?? notEnded(live, call, error) };
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
async function readChanged(live: AcceptedCall, stored: StoredCall): Promise<StoredCall | undefined> {
  const { engine, turn, request } = live;
  const call = foldStored(stored);
  if (call !== undefined) await awaitOtherProcess(live, call, stored, 'of the call');
  return engine.ledger.journal.readCall(turn.sessionId, request.id);
}

/** Answers a request whose id belongs to another call. Never returns that call's outcome. */
export async function conflict(live: AcceptedCall, call: Call): Promise<ToolOutcome> {
  const { request } = live;
  const details = live.engine.redactor.text(
    call.toolName === request.name
      ? `Nothing ran: the id ${request.id} belongs to an earlier call of this tool with other arguments. Make the call again as a new call.`
      : `Nothing ran: the id ${request.id} belongs to an earlier call of the tool "${call.toolName}". Make the call again as a new call.`,
  );
  await note(live, call, 'conflict', details);
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
  live: AcceptedCall,
  call: Call,
  how: 'cached' | 'conflict',
  details: string,
): Promise<void> {
  live.journal.rebase(call);
  try {
    await live.journal.remark({ type: 'recall', how, fromCallId: call.callId, details });
  } catch (error) {
    // The recorded outcome is still the answer. "Nothing ran" would be wrong and would invite a rerun.
    if (!(error instanceof LedgerTrouble)) throw error;
  }
}
