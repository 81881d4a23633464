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
import type { QuittanceEvent } from '../call/event.ts';
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
import type { CallRef } from './gates/gate.ts';
import { isExpired, isUsedTooLate } from './expiry.ts';
import { foldStored } from './fold-stored.ts';
import { endDue, isDue } from './handoff-due.ts';
import { leftUntil } from './left-until.ts';
import { isGivenUp, isSuspect } from './lost-attempts.ts';
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
import { askTool, judgePoison, judgeUnseen, lostAttempt } from './unseen-end.ts';

/** How far a recovery has come, for a host that shows it. */
export type RecoveryProgress = { readonly done: number; readonly total: number };

/** Ends, or goes on with, every call whose owner is gone, and waits for those that are run again. */
export async function recover(
  desk: Desk,
  onProgress: (progress: RecoveryProgress) => void = () => undefined,
): Promise<readonly RecoveredCall[]> {
  const recovered: RecoveredCall[] = [];
  await recoverOrphans(desk, onProgress, async (recovering) => {
    const call = await recovering;
    if (call !== undefined) recovered.push(call);
  });
  return recovered;
}

/**
 * Makes sure that no call of the session is in doubt unnoticed: the first time by looking at every open call, later only
 * when an owner has gone. The sweep of the whole ledger goes on in the background; only what belongs to the session is
 * waited for, so that a new session never waits for the crash of another.
 */
export async function sweep(desk: Desk, sessionId?: string): Promise<void> {
  const { ledger } = desk.engine;
  if (desk.swept && (await ledger.findGoneOwners()).every((ownerId) => desk.sweptOwners.has(ownerId))) return;
  desk.sweeping ??= sweepAll(desk).finally(() => {
    desk.sweeping = undefined;
  });
  if (sessionId === undefined) return desk.sweeping;
  desk.sweeping.catch(() => undefined); // the next turn sweeps again
  await sweepSession(desk, sessionId);
}

async function sweepAll(desk: Desk): Promise<void> {
  const { ledger, stragglers } = desk.engine;
  const gone = await ledger.findGoneOwners();
  await recoverOrphans(
    desk,
    () => undefined,
    async (recovering, call) => {
      const quiet = recovering.catch(() => undefined).finally(() => stragglers.delete(quiet));
      stragglers.add(quiet);
      // What runs again may take as long as the call: it is not waited for, unless it may end this process.
      if (!goesOn(call) || isSuspect(call)) await recovering;
    },
  );
  desk.swept = true;
  for (const ownerId of gone) desk.sweptOwners.add(ownerId);
}

/** Settles what is in doubt in one session. What can go on is left to the sweep of the whole ledger. */
async function sweepSession(desk: Desk, sessionId: string): Promise<void> {
  const { ledger } = desk.engine;
  const doubtful = [];
  for (const callId of openCallIds(await ledger.readSession(sessionId))) {
    const found = await readOpen(desk, { sessionId, callId });
    if (found === undefined || goesOn(found.call)) continue;
    if (!(await hasLiveOwner(ledger, { sessionId, callId, ownerId: found.stored.ownerId }, 0)))
      doubtful.push(callId);
  }
  if (doubtful.length === 0) return;
  await importSpills(desk.engine);
  for (const callId of doubtful) {
    const found = await readOpen(desk, { sessionId, callId });
    if (found !== undefined) await recoverCall(desk, found.stored, found.call);
  }
}

function openCallIds(events: readonly QuittanceEvent[]): readonly string[] {
  const open = new Set<string>();
  for (const event of events)
    if (event.type === 'tool.requested') open.add(event.callId);
    else if (event.type === 'tool.responded' && event.final) open.delete(event.callId);
  return [...open];
}

type Found = { readonly stored: StoredCall; readonly call: Call };

/** Undefined for a call that has ended meanwhile. */
async function readOpen({ engine }: Desk, { sessionId, callId }: CallRef): Promise<Found | undefined> {
  const stored = await engine.ledger.readCall(sessionId, callId);
  const call = stored && foldStored(stored);
  return stored === undefined || call === undefined || call.settled !== undefined
    ? undefined
    : { stored, call };
}

/** Measured: so many share a commit, and a body that is run again takes at most so much of the process. */
const mostAtOnce = 64;
/** How many calls are looked at before other work has its turn. */
const yieldEvery = 32;

/**
 * Takes every orphan over, a bounded number at a time. Suspects come last and one at a time: if a body ends the process,
 * only its own call has lost an attempt. `follow` says for how long each keeps its place.
 */
async function recoverOrphans(
  desk: Desk,
  onProgress: (progress: RecoveryProgress) => void,
  follow: (recovering: Promise<RecoveredCall | undefined>, call: Call) => Promise<void>,
): Promise<void> {
  const { ledger } = desk.engine;
  const gone = new Set(await ledger.findGoneOwners());
  const orphans = await findOrphans(desk);
  // After the owners were found to be gone: an owner may spill an outcome just before it dies.
  await importSpills(desk.engine);
  const suspects: OpenCall[] = [];
  let looked = 0;
  let done = 0;
  /** False for a suspect that must wait until the others are done. */
  const take = async (open: OpenCall, mayBeSuspect: boolean): Promise<boolean> => {
    const found = await readOpen(desk, open);
    // Another process may have taken the call since it was listed, and lives.
    if (found === undefined || found.stored.ownerId !== open.ownerId) return true;
    if (isSuspect(found.call) && !mayBeSuspect) {
      suspects.push(open);
      return false;
    }
    if (goesOn(found.call)) gone.delete(open.ownerId);
    const recovering = report(desk, found.stored, found.call);
    recovering.catch(() => undefined); // heard by `follow`, which may be later
    await follow(recovering, found.call);
    return true;
  };
  const step = async (open: OpenCall, mayBeSuspect: boolean): Promise<void> => {
    if (await take(open, mayBeSuspect)) done++;
    if (++looked % yieldEvery === 0) {
      onProgress({ done, total: orphans.length });
      await new Promise(setImmediate);
    }
  };
  await eachOf(orphans, mostAtOnce, (open) => step(open, false));
  await eachOf(suspects, 1, (open) => step(open, true));
  if (orphans.length > 0) onProgress({ done: orphans.length, total: orphans.length });
  for (const ownerId of gone) await ledger.forgetOwner(ownerId);
}

/** Every open call whose owner is proven dead. Each owner is asked after once. */
async function findOrphans({ engine: { ledger } }: Desk): Promise<readonly OpenCall[]> {
  const alive = new Map<string, boolean>();
  const orphans: OpenCall[] = [];
  for (const open of await ledger.findOpenCalls()) {
    const { ownerId } = open;
    if (ownerId !== ledger.ownerId && !alive.has(ownerId))
      alive.set(ownerId, (await ledger.ownerStatus(ownerId)) !== 'gone');
    if (!(alive.get(ownerId) ?? (await hasLiveOwner(ledger, open, 0)))) orphans.push(open);
  }
  return orphans;
}

/** Does the work for every item, so many at a time. Begins no more once one has failed, and fails like it. */
async function eachOf<Item>(
  items: readonly Item[],
  workers: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  let failed = false;
  const run = async (): Promise<void> => {
    for (const item of waiting) {
      if (failed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, items.length) }, run));
}

/** Whether recovering the call may take as long as the call itself. */
const goesOn = (call: Call): boolean =>
  call.status !== 'running' ||
  call.failed !== undefined ||
  (call.started?.mayRerun === true && !isGivenUp(call)) ||
  isHandedOver(call);

/**
 * May another owner still end the call? True unless that owner is proven dead. On this handle, true if more runtimes
 * hold the call than the `askers` that only ask about it.
 */
const hasLiveOwner = async (
  ledger: Ledger,
  { ownerId, ...call }: OpenCall,
  askers: number,
): Promise<boolean> =>
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
    : await hasLiveOwner(ledger, { sessionId, callId, ownerId: stored.ownerId }, askers);
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
        return { how: 'resumed', told: await goOnFrom(intending(hand), call) };
      return {
        how: 'cancelled',
        told: await settleStopped(hand, cancelStop('whoever asked for it is gone')),
      };
    case 'held':
    case 'approved':
      // What nobody wants any more ends without the tool; the rest goes on with whoever has it as it was.
      if (isOver(call, hand.engine.ledger.now())) return { how: 'resumed', told: await resolveHold(hand) };
      if (await prepareInput(hand)) return { how: 'resumed', told: await goOnFrom(intending(hand), call) };
      return { how: 'cancelled', told: await settleVoid(hand) };
    case 'running':
      return isHandedOver(call) ? endHandoff(hand) : endAttempt(hand, call);
    case 'settled':
      return { how: 'overtaken', told: undefined };
  }
}

/** Its body may be what ended the process before: from now on every attempt leaves a trace. */
function intending(hand: CallInHand): CallInHand {
  hand.mustIntend = true;
  return hand;
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
  if (declaredSafe && isGivenUp(call)) return giveUp(hand, call);
  const ready = tool !== undefined && (await prepareInput(hand));
  if (ready && declaredSafe && tool.mayRerun) {
    const told = await attemptAgain(hand);
    return told === undefined ? { how: 'overtaken', told } : { how: 'rerun', told: kept(hand, told) };
  }
  const found = ready ? await askTool(hand, call) : { status: 'unknown' as const };
  const told = kept(hand, await settle(hand, await judgeUnseen(hand, found), lostAttempt(hand)));
  return { how: found.status === 'unknown' ? 'indeterminate' : 'reconciled', told };
}

/**
 * Every process that ran this body ended during the attempt. An effect may have happened, so a person must find out. A
 * read had no effect, and asking for it again would end this process too.
 */
async function giveUp(hand: CallInHand, call: Call): Promise<Recovery> {
  const why = `The process ended during each of ${call.attemptsWithoutEnd} attempts to run this tool`;
  const isRead = call.mode === 'read';
  const judgement = isRead
    ? await judgePoison(hand, `${why}.`)
    : await judgeUnseen(hand, { status: 'unknown' }, why);
  const told = kept(hand, await settle(hand, judgement, lostAttempt(hand)));
  return { how: isRead ? 'failed' : 'indeterminate', told };
}

/** Throws where nothing could take the end: then it is as open as before, for whoever recovers it next. */
function kept(hand: CallInHand, outcome: ToolOutcome): ToolOutcome {
  if (hand.unkept === undefined) return outcome;
  throw new LedgerTrouble('neither the ledger nor its spill could take the end of the call');
}
