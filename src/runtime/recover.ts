/**
 * Recovery: calls whose owner is gone are ended, and never by running an effect twice.
 *
 * 1. What a dead owner spilled is appended before its calls are judged: it may hold their outcomes.
 * 2. A call without an intent never ran: it is cancelled, unless it was handed in or held, then it goes on.
 * 3. An attempt without an end is run again only where the tool says that is safe; else the tool is asked what
 *    happened; else nobody knows, and the call says so.
 * 4. Who does not have the tool of a call that others could go on with leaves it to them; between two attempts for an
 *    hour, then it ends with the failure it has.
 * 5. Every step is a compare-and-set on the call: of two that recover it one does, and an owner that was only slow
 *    finds itself overtaken.
 */
import type { Call } from '../call/call.ts';
import { isHandedOver } from '../call/handoff.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { StoredCall } from '../ledger/ledger.ts';
import type { OpenCall, Ledger } from '../ledger/ledger.ts';
import { untilReported } from './await-report.ts';
import type { CallInHand } from './call-in-hand.ts';
import { clean } from './clean.ts';
import type { Desk } from './desk.ts';
import { keyOf } from './desk.ts';
import { attemptAgain, attemptNext, endAsFailed } from './execute.ts';
import { isExpired, isUsedTooLate } from './expiry.ts';
import { foldStored } from './fold-stored.ts';
import { endDue, isDue } from './handoff-due.ts';
import { leftUntil } from './left-until.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { resolveHold } from './hold.ts';
import type { RecoveredCall, Recovery } from './recovery.ts';
import { goOnFrom } from './make-call.ts';
import { prepareInput, takeOver } from './take-over.ts';
import { alteredStop } from './altered-stop.ts';
import { overtaken, settle, settleStopped } from './settle.ts';
import { importSpills } from './spill.ts';
import type { HeldCall, Told } from './told.ts';
import { notEnded } from './unavailable.ts';
import { cancelStop } from './unless-over.ts';
import { askTool, judgeUnseen, lostAttempt } from './unseen-end.ts';

/** Ends, or goes on with, every call whose owner is gone, and waits for those that are run again. */
export async function recover(desk: Desk): Promise<readonly RecoveredCall[]> {
  const recovered = await Promise.all(await takeOrphans(desk));
  return recovered.filter((call) => call !== undefined);
}

/**
 * Sees to it that no call in doubt goes unnoticed: the first time by looking at every open call, later only where an
 * owner has gone. What is run again goes on by itself. One sweep at a time; whoever comes meanwhile waits for it.
 */
export function sweep(desk: Desk): Promise<void> {
  desk.sweeping ??= sweepOnce(desk).finally(() => {
    desk.sweeping = undefined;
  });
  return desk.sweeping;
}

async function sweepOnce(desk: Desk): Promise<void> {
  const { ledger, stragglers } = desk.engine;
  if (desk.swept && (await ledger.findGoneOwners()).length === 0) return;
  for (const recovering of await takeOrphans(desk)) {
    // Whoever waits for the call hears what became of it; nobody else needs to.
    const quiet = recovering.catch(() => undefined).finally(() => stragglers.delete(quiet));
    stragglers.add(quiet);
  }
  desk.swept = true;
}

/**
 * Takes every orphan over. What is in doubt is settled as such when this resolves; what can go on is under way. The
 * owners nothing is left of are forgotten.
 */
async function takeOrphans(desk: Desk): Promise<Promise<RecoveredCall | undefined>[]> {
  const { ledger } = desk.engine;
  const gone = new Set(await ledger.findGoneOwners());
  await importSpills(desk.engine);
  const underWay: Promise<RecoveredCall | undefined>[] = [];
  for (const open of await ledger.findOpenCalls()) {
    if (await isAtIt(ledger, open, 0)) continue;
    const stored = await ledger.readCall(open.sessionId, open.callId);
    const call = stored && foldStored(stored);
    if (stored === undefined || call === undefined || call.settled !== undefined) continue;
    const recovering = report(desk, stored, call);
    recovering.catch(() => undefined); // heard by whoever is given it, which may be later
    underWay.push(recovering);
    if (goesOn(call)) gone.delete(open.ownerId);
    else await recovering;
  }
  for (const ownerId of gone) await ledger.forgetOwner(ownerId);
  return underWay;
}

/** Whether recovering the call may take as long as the call itself. */
const goesOn = (call: Call): boolean =>
  call.status !== 'running' ||
  call.failed !== undefined ||
  call.started?.mayRerun === true ||
  isHandedOver(call);

/**
 * May another owner still end the call? True unless that owner is proven dead. On this handle, true if more runtimes
 * hold the call than the `askers` that only ask about it.
 */
const isAtIt = async (ledger: Ledger, { ownerId, ...call }: OpenCall, askers: number): Promise<boolean> =>
  ownerId === ledger.ownerId
    ? (ledger.inHand.get(keyOf(call)) ?? 0) > askers
    : (await ledger.ownerStatus(ownerId)) !== 'gone';

/** Ends a call somebody asked for, if nobody else is at it; goes on holding one that waits for a person. */
export async function endOrphan(
  desk: Desk,
  stored: StoredCall,
  call: Call,
  askers: number,
): Promise<boolean | HeldCall> {
  const { ledger } = desk.engine;
  const { sessionId, callId } = call;
  // Whose turn it is with a call that another process runs is a matter of time, not of who lives.
  const somebodyIs = isHandedOver(call)
    ? !isDue(desk.engine, call)
    : await isAtIt(ledger, { sessionId, callId, ownerId: stored.ownerId }, askers);
  if (somebodyIs) return false;
  if ((await importSpills(desk.engine)) > 0) return true;
  const { how, told } = await recoverCall(desk, stored, call);
  return told?.type === 'held' ? told : how !== 'left';
}

async function report(desk: Desk, stored: StoredCall, call: Call): Promise<RecoveredCall | undefined> {
  const { sessionId, callId, toolName } = call;
  const { how } = await recoverCall(desk, stored, call);
  return how === 'overtaken' ? undefined : { sessionId, callId, toolName, how };
}

/** Takes one call over. The same call asked for meanwhile joins it. */
export function recoverCall(desk: Desk, stored: StoredCall, call: Call): Promise<Recovery> {
  const key = keyOf(call);
  // Whoever looks while somebody here is at it waits for what that one finds.
  const underWay = desk.recovering.get(key);
  if (underWay !== undefined) return underWay;
  const recovering = takeInHand(desk, stored, call).finally(() => desk.recovering.delete(key));
  desk.recovering.set(key, recovering);
  return recovering;
}

async function takeInHand(desk: Desk, stored: StoredCall, call: Call): Promise<Recovery> {
  const { engine } = desk;
  const hand = await takeOver(engine, stored, call);
  // Before anybody can join: whoever waited here for another process to take the call would look for one for ever.
  if (isForOthers(hand, call)) return { how: 'left', told: undefined };
  const key = keyOf(call);
  const mine = !desk.inHand.has(key);
  const recovery = endByStatus(hand, call);
  tellWhoJoins(hand, () =>
    recovery.then(
      ({ told }) => told ?? overtaken(hand),
      (error: unknown) => notEnded(hand, call, error),
    ),
  );
  if (mine) desk.inHand.set(key, hand);
  try {
    const { how, told } = await recovery;
    if (told?.type === 'held')
      void told.rest.catch(() => undefined).finally(() => mine && desk.inHand.delete(key));
    else if (mine) desk.inHand.delete(key);
    return { how, told };
  } catch (error) {
    if (mine) desk.inHand.delete(key);
    throw error;
  }
}

/**
 * Made when it is first asked for: where nobody joins, nobody follows the call to its end, which somebody else may
 * bring about much later, and nobody is noted to have been told of it.
 */
function tellWhoJoins(hand: CallInHand, tell: () => Promise<Told>): void {
  let told: Promise<Told> | undefined;
  Object.defineProperty(hand, 'told', { configurable: true, get: () => (told ??= tell()) });
}

async function endByStatus(hand: CallInHand, call: Call): Promise<Recovery> {
  switch (call.status) {
    case 'requested':
      if (call.submitted && hand.request.input.ok && hand.tool !== undefined)
        return { how: 'resumed', told: await goOnFrom(hand, call) };
      return {
        how: 'cancelled',
        told: await settleStopped(hand, cancelStop('whoever asked for it is gone')),
      };
    case 'held':
    case 'approved':
      // What nobody wants any more ends without the tool; the rest goes on with whoever has it as it was.
      if (isOver(call, hand.engine.ledger.now())) return { how: 'resumed', told: await resolveHold(hand) };
      if (await prepareInput(hand)) return { how: 'resumed', told: await goOnFrom(hand, call) };
      return { how: 'cancelled', told: await settleVoid(hand) };
    case 'running':
      return isHandedOver(call) ? endHandoff(hand) : endAttempt(hand, call);
    case 'settled':
      return { how: 'overtaken', told: undefined };
  }
}

/** Whether all that is left is to say that it did not run. */
function isOver({ confirmation }: Call, now: number): boolean {
  if (confirmation === undefined) return false;
  switch (confirmation.status) {
    case 'pending':
      return isExpired(confirmation, now) && confirmation.timeoutEffect === 'block';
    case 'approved':
      return isUsedTooLate(confirmation, now);
    case 'denied':
    case 'answered':
    case 'withdrawn':
    case 'expired':
      return true;
  }
}

/** Without the input that was shown a call can never run as it was shown: the question is void. */
function settleVoid(hand: CallInHand): Promise<ToolOutcome> {
  const { unusable } = hand;
  const problem = unusable?.problem ?? 'its tool cannot be given the input any more';
  const asked = hand.call?.confirmation;
  if (asked?.status === 'pending')
    hand.apply({ type: 'withdraw', confirmationId: asked.confirmationId, reason: clean(hand, problem) });
  if (unusable?.why === 'altered') return settleStopped(hand, alteredStop);
  return settleStopped(hand, {
    type: 'deny',
    reason: 'expired',
    code: 'confirmation.expired',
    details: clean(hand, `The call cannot run as it was shown: ${problem}.`),
  });
}

/** Whether only a process that has the tool, as it was, can do anything about the call. */
function isForOthers(hand: CallInHand, call: Call): boolean {
  switch (call.status) {
    case 'held':
    case 'approved':
      return !isOver(call, hand.engine.ledger.now()) && !isSameTool(hand, call);
    case 'running': {
      // Between two attempts nothing is in doubt: it can end as it stands, once nobody is expected who could go on.
      const until = leftUntil(call);
      if (until !== undefined) return hand.tool === undefined && hand.engine.ledger.now() < until;
      // What was never safe to run again is not decided by who has the tool.
      return hand.tool === undefined && call.started?.mayRerun === true && !isHandedOver(call);
    }
    case 'requested':
    case 'settled':
      return false;
  }
}

/** Another version of the tool may mean something else by what was approved. */
const isSameTool = ({ tool }: CallInHand, { confirmation }: Call): boolean =>
  tool !== undefined &&
  (confirmation?.schemaDigest === undefined || confirmation.schemaDigest === tool.schemaDigest);

/** What another process runs is not lost with whoever asked for it: this one waits for the report instead. */
async function endHandoff(hand: CallInHand): Promise<Recovery> {
  if (hand.call === undefined || !isDue(hand.engine, hand.call)) {
    const rest = untilReported(hand);
    rest.catch(() => undefined); // heard by whoever asks for the call
    return { how: 'resumed', told: { type: 'held', confirmationId: undefined, rest } };
  }
  const outcome = await endDue(hand);
  if (outcome === undefined) return { how: 'overtaken', told: undefined };
  if (outcome.type === 'ToolTimeout') return { how: 'timed_out', told: outcome };
  return {
    how: 'code' in outcome && outcome.code === 'tool.indeterminate' ? 'indeterminate' : 'reconciled',
    told: outcome,
  };
}

/** An attempt without an end. */
async function endAttempt(hand: CallInHand, call: Call): Promise<Recovery> {
  const { tool } = hand;
  const { failed } = call;
  if (failed !== undefined) {
    // Without its tool and its input as they were it is tried by nobody.
    const outcome =
      tool !== undefined && (await prepareInput(hand))
        ? await attemptNext(hand, failed)
        : await endAsFailed(hand, failed);
    return outcome === undefined
      ? { how: 'overtaken', told: undefined }
      : { how: 'resumed', told: kept(hand, outcome) };
  }
  const declaredSafe = call.started?.mayRerun === true;
  const ready = tool !== undefined && (await prepareInput(hand));
  if (ready && declaredSafe && tool.mayRerun) {
    const told = await attemptAgain(hand);
    return told === undefined ? { how: 'overtaken', told } : { how: 'rerun', told: kept(hand, told) };
  }
  const found = ready ? await askTool(hand, call) : { status: 'unknown' as const };
  const told = kept(hand, await settle(hand, await judgeUnseen(hand, found), lostAttempt(hand)));
  return { how: found.status === 'unknown' ? 'indeterminate' : 'reconciled', told };
}

/** Throws where nothing could take the end: then it is as open as before, for whoever recovers it next. */
function kept(hand: CallInHand, outcome: ToolOutcome): ToolOutcome {
  if (hand.unkept === undefined) return outcome;
  throw new LedgerTrouble('neither the ledger nor its spill could take the end of the call');
}
