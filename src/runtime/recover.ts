/**
 * Recovery: calls whose owner is gone are ended, and never by running an effect twice.
 *
 * 1. What a dead owner spilled is appended before its calls are judged: it may hold their outcomes.
 * 2. A call without an intent never ran: it is cancelled, unless it was handed in or held, then it goes on.
 * 3. An attempt without an end is run again only where the tool says that is safe; else the tool is asked what
 *    happened; else nobody knows, and the call says so.
 * 4. Every step is a compare-and-set on the call: of two that recover it one does, and an owner that was only slow
 *    finds itself overtaken.
 */
import type { Call } from '../call/call.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { outcomeToModelContent } from '../call/model-content.ts';
import type { StoredCall } from '../ledger/ledger.ts';
import type { OpenCall, Ledger } from '../ledger/ledger.ts';
import { describeThrown } from '../tool/describe-thrown.ts';
import type { Reconciliation } from '../tool/tool-spec.ts';
import { BodyContext } from './body-context.ts';
import type { CallInHand, Told } from './call-in-hand.ts';
import type { Desk } from './desk.ts';
import { keyOf } from './desk.ts';
import { attemptAgain } from './execute.ts';
import { foldStored } from './fold-stored.ts';
import { judgeEnd } from './judge.ts';
import type { AttemptFacts } from './judgement.ts';
import { fail } from './judgement.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { goOnFrom } from './make-call.ts';
import { prepareInput, takeOver } from './take-over.ts';
import { overtaken, settle, settleStopped } from './settle.ts';
import { importSpills } from './spill.ts';
import { notEnded, unknownEnd } from './unavailable.ts';
import { cancelStop } from './unless-over.ts';

/** What became of a call whose owner was gone. */
export type RecoveredCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly how: 'cancelled' | 'resumed' | 'rerun' | 'reconciled' | 'indeterminate' | 'left';
};

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
const goesOn = (call: Call): boolean => call.status !== 'running' || call.started?.mayRerun === true;

/**
 * Whether somebody may still end the call: another owner that lives, or more runtimes on this very handle than `askers`
 * that only ask about it.
 */
const isAtIt = async (ledger: Ledger, { ownerId, ...call }: OpenCall, askers: number): Promise<boolean> =>
  ownerId === ledger.ownerId ? (ledger.inHand.get(keyOf(call)) ?? 0) > askers : await ledger.isAlive(ownerId);

/** Ends a call somebody asked for, if nobody else is at it. */
export async function endOrphan(
  desk: Desk,
  stored: StoredCall,
  call: Call,
  askers: number,
): Promise<boolean> {
  const { ledger } = desk.engine;
  const { sessionId, callId } = call;
  if (await isAtIt(ledger, { sessionId, callId, ownerId: stored.ownerId }, askers)) return false;
  if ((await importSpills(desk.engine)) > 0) return true;
  const { how } = await recoverCall(desk, stored, call);
  return how !== 'left';
}

async function report(desk: Desk, stored: StoredCall, call: Call): Promise<RecoveredCall | undefined> {
  const { sessionId, callId, toolName } = call;
  const { how } = await recoverCall(desk, stored, call);
  return how === 'overtaken' ? undefined : { sessionId, callId, toolName, how };
}

type Recovery = { readonly how: RecoveredCall['how'] | 'overtaken'; readonly told: Told | undefined };

/** Takes one call over. The same call asked for meanwhile joins it. */
export async function recoverCall(desk: Desk, stored: StoredCall, call: Call): Promise<Recovery> {
  const { engine } = desk;
  const hand = await takeOver(engine, stored, call);
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
    if (told?.type === 'held') void told.rest.finally(() => mine && desk.inHand.delete(key));
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
      // Whoever has the tool, the key and somebody to ask goes on with it.
      if (!(await prepareInput(hand)) || (isPending(call) && hand.engine.onConfirm === undefined))
        return { how: 'left', told: undefined };
      return { how: 'resumed', told: await goOnFrom(hand, call) };
    case 'running':
      return endAttempt(hand, call);
    case 'settled':
      return { how: 'overtaken', told: undefined };
  }
}

const isPending = ({ confirmation }: Call): boolean => confirmation?.status === 'pending';

/** An attempt without an end. */
async function endAttempt(hand: CallInHand, call: Call): Promise<Recovery> {
  const { tool } = hand;
  const declaredSafe = call.started?.mayRerun === true;
  // Another process may have the tool and so know more; what was never safe to run again is not decided by it.
  if (tool === undefined && declaredSafe) return { how: 'left', told: undefined };
  const ready = tool !== undefined && (await prepareInput(hand));
  if (ready && declaredSafe && tool.mayRerun) {
    const told = await attemptAgain(hand);
    return told === undefined ? { how: 'overtaken', told } : { how: 'rerun', told: kept(hand, told) };
  }
  const found = ready ? await askTool(hand, call) : { status: 'unknown' as const };
  return found.status === 'unknown'
    ? { how: 'indeterminate', told: await settleUnknown(hand) }
    : { how: 'reconciled', told: await settleFound(hand, found) };
}

/** What the tool itself finds out. Whatever is no clear answer is none. */
async function askTool(hand: CallInHand, call: Call): Promise<Reconciliation> {
  const { knownTool: tool, input } = hand;
  if (tool.reconcile === undefined) return { status: 'unknown' };
  try {
    const found: unknown = await tool.reconcile({
      args: input.executed,
      sessionId: call.sessionId,
      callId: call.callId,
      attempt: call.attempt,
      idempotencyKey: new BodyContext(hand, call.attempt, hand.toolKey).idempotencyKey,
      startedAt: call.started?.at ?? call.requestedAt,
    });
    return readReconciliation(found);
  } catch (error) {
    hand.note(`The tool's reconcile threw: ${hand.clean(describeThrown(error))}`);
    return { status: 'unknown' };
  }
}

function readReconciliation(found: unknown): Reconciliation {
  const { status, output, reason } = (found ?? {}) as Partial<Record<string, unknown>>;
  if (status === 'succeeded') return { status, output };
  if (status === 'failed') return { status, ...(typeof reason === 'string' && { reason }) };
  return { status: 'unknown' };
}

const factsOf = (hand: CallInHand): AttemptFacts => ({
  context: new BodyContext(hand, hand.call?.attempt ?? 1, hand.toolKey),
  elapsedMs: 0,
  deadlineMs: hand.call?.started?.deadlineMs ?? 0,
});

async function settleFound(
  hand: CallInHand,
  found: Exclude<Reconciliation, { status: 'unknown' }>,
): Promise<ToolOutcome> {
  const facts = factsOf(hand);
  const judgement =
    found.status === 'succeeded'
      ? await judgeEnd(hand, { type: 'returned', value: found.output }, facts)
      : await fail(
          hand,
          {
            code: 'tool.execution_error',
            error: `The process ended while the tool ran; the tool says it did not take effect${found.reason === undefined ? '.' : `: ${found.reason}`}`,
            retryable: true,
            // The tool knows that nothing happened: asking again is safe.
            authorSaysRetry: true,
          },
          facts,
        );
  return kept(hand, await settle(hand, judgement, lostAttempt(hand)));
}

async function settleUnknown(hand: CallInHand): Promise<ToolOutcome> {
  const outcome = unknownEnd(hand, hand.modelNote());
  const content = outcomeToModelContent(outcome);
  const judgement = { outcome, content, toolSuccess: undefined, authorSaysRetry: false };
  return kept(hand, await settle(hand, judgement, lostAttempt(hand)));
}

/** Throws where nothing could take the end: then it is as open as before, for whoever recovers it next. */
function kept(hand: CallInHand, outcome: ToolOutcome): ToolOutcome {
  if (hand.unkept === undefined) return outcome;
  throw new LedgerTrouble('neither the ledger nor its spill could take the end of the call');
}

/** What an attempt cost whose end nobody saw: what it had reserved. */
const lostAttempt = (hand: CallInHand): Parameters<typeof settle>[2] => ({
  costMicros: hand.call?.started?.reserved.find(({ metric }) => metric === 'cost_micros')?.amount ?? 0,
  reached: [],
  log: [],
  payloadExtras: undefined,
});
