/** From the gates to the reply: stops the call, asks a person, or runs the body. */
import type { Awaitable } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import { isPromiseLike } from '../../base/when-ready.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { AskedCall, HeldHere, JudgedCall } from '../state/call-stages.ts';
import { asAccepted } from '../state/call-stages.ts';
import type { Taken } from '../input/taken.ts';
import type { Ask } from '../../call/event.ts';
import type { HostAnswer } from '../hold/await-hold-signal.ts';
import type { Course } from '../execute/execute.ts';
import { end, execute } from '../execute/execute.ts';
import { gates } from '../gates/gates.ts';
import { hold, holdOn, resolveHold } from '../hold/hold.ts';
import { notAsked } from '../hold/until-decided.ts';
import type { CallReply } from '../state/call-reply.ts';
import { answerByGrant } from '../grants/answer-by-grant.ts';
import type { WalkedAll } from '../gates/walk.ts';
import { walkAll } from '../gates/walk.ts';

export type Going = Awaitable<CallReply | HeldHere>;

/** Values for a call that was never held, or that was taken over. */
export const neverAsked: Omit<AskedCall, keyof AcceptedCall> = Object.freeze({
  notes: [],
  toolKey: undefined,
  claimKey: undefined,
  twins: [],
  supersedes: undefined,
  ruled: false,
});

/** Continues a call whose body never started, from the last event of its record. */
export async function goOnFrom(
  live: AskedCall,
  { confirmation }: Call,
  asked: HostAnswer = notAsked,
  just?: Taken,
): Promise<CallReply | HeldHere> {
  if (confirmation === undefined) return goThroughGates(live);
  return confirmation.status === 'pending' ? holdOn(live, asked) : resolveHold(live, asked, just);
}

/** Passes the gates, asks a person if needed, then runs the body. */
export function goThroughGates(live: AcceptedCall): Going {
  const walking = walkAll(live, gates);
  return isPromiseLike(walking) ? goOnLater(live, walking) : goOnAfterGates(live, walking);
}

/** A function of its own: a function with a closure allocates its variables even if it makes none. */
const goOnLater = (live: AcceptedCall, walking: PromiseLike<WalkedAll>): Going =>
  walking.then((walked) => goOnAfterGates(live, walked));

function goOnAfterGates(live: AcceptedCall, walked: WalkedAll): Going {
  if (walked.type === 'stopped') return end(walked.live, walked.stop);
  const asks = withAskByMode(walked.live);
  return asks.length === 0 ? execute(walked.live, firstCourse) : ask(live, walked.live, asks);
}

/** If the gates went by something that has changed since, they look again. */
const firstCourse: Course<CallReply | HeldHere> = {
  deadlineLifted: false,
  whenMoved: (live) => goThroughGates(asAccepted(live)),
};

async function ask(
  live: AcceptedCall,
  walked: JudgedCall,
  asks: readonly Ask[],
): Promise<CallReply | HeldHere> {
  const granted = await answerByGrant(walked, asks);
  if (granted !== undefined) return execute({ ...walked, ...granted }, firstCourse);
  const reply = await hold({ ...walked, asks });
  return reply.type === 'moved' ? goThroughGates(live) : reply;
}

/** Some modes need an approval by default. The host can change this. */
export function withAskByMode({ tool, engine, asks }: JudgedCall): readonly Ask[] {
  const { mode, displayName, undo } = tool;
  const treatment = engine.treatments[mode];
  if (treatment === 'run' || (treatment === 'ask_unless_undo' && undo !== undefined)) return asks;
  const description = `"${displayName}" is ${mode === 'external' ? 'an' : 'a'} ${mode} tool.`;
  return [...asks, { by: { type: 'gate', name: 'mode' }, description }];
}
