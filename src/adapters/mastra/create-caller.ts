import { isJsonObject } from '../../base/json.ts';
import type { PendingCall } from '../../runtime/turn/await-reply.ts';
import type { ToolCallInput } from '../../runtime/host/tool-call-input.ts';
import { ownValue } from '../../tool/own-value.ts';
import { readMessages } from '../ai-sdk/messages.ts';
import type { Answer } from '../answer/answer.ts';
import { AnsweredCalls, earlierIn, withSessionCallId } from '../run/conversation.ts';
import type { Driver, Run } from '../run/driver.ts';
import type { MastraAnswer } from './announcements.ts';
import type { MastraContext } from './tool.ts';
import { notMade } from '../answer/fault-messages.ts';

export type MakeCall = (
  request: ToolCallInput,
  context: MastraContext,
  answer: MastraAnswer | undefined,
  announcedAt: number | undefined,
) => Promise<Made>;
type Made = { readonly sessionId: string; readonly answer: Answer | PendingCall };

/** The calls that a run has answered, and the time of the last answer for each id. */
type FollowedRun = {
  readonly answered: AnsweredCalls;
  readonly last: Map<string, { readonly at: number; readonly earlier: number }>;
};

/** Makes the call through the runtime, with the person's answer. */
export function createCaller(
  driver: Driver<MastraContext>,
  session: ((context: MastraContext) => string | undefined) | undefined,
  clock: () => number,
): MakeCall {
  const runOf = (context: MastraContext): Run<MastraContext> => {
    const sessionId = session?.(context) ?? context.agent?.threadId ?? context.runId;
    if (sessionId === undefined || sessionId === '')
      throw notMade(
        'The run has no session, so the call was not made.',
        "A call has no session. Pass memory: { thread, resource } to the agent's generate or stream, or " +
          'name the session: governTools(tools, { session: (context) => … }).',
      );
    const { runId } = context;
    if (runId === undefined) return driver.open({ sessionId });
    return driver.runOf(JSON.stringify([sessionId, runId]), () => ({ sessionId }));
  };
  const followed = new WeakMap<Run<MastraContext>, FollowedRun>();
  /** Mastra shows a tool the messages from the start of the run, and none of its own. */
  const follow = (run: Run<MastraContext>, messages: unknown): FollowedRun => {
    const known = followed.get(run);
    if (known !== undefined) return known;
    const begun = { answered: new AnsweredCalls(), last: new Map() };
    begun.answered.read(readMessages(messages));
    followed.set(run, begun);
    return begun;
  };
  return async (call, context, answer, announcedAt) => {
    const run = runOf(context);
    const { answered, last } = follow(run, context.agent?.messages);
    const before = last.get(call.id);
    // Mastra announces all calls of a message before it makes them, possibly one by one.
    const isSibling = announcedAt !== undefined && before !== undefined && announcedAt < before.at;
    const earlier =
      suspendedUse(context, call.id) ?? (isSibling ? before.earlier : answered.earlier(call.id));
    const request = withSessionCallId(call, earlier);
    const signal = context.abortSignal;
    const given = { native: context, ...(signal !== undefined && { signal }) };
    const made = async (telling: Promise<Answer | PendingCall>): Promise<Made> => {
      const answer = await telling;
      if (answer.type !== 'pending') {
        answered.answered(call.id, earlier);
        last.set(call.id, { at: clock(), earlier });
      }
      return { sessionId: run.sessionId, answer: answer };
    };
    if (!driver.suspends || context.agent?.suspend === undefined) return made(run.call(request, given));
    if (answer === undefined) return made(run.callOrPending(request, given));
    const [held] = await driver.runtime.calls.list({ sessionId: run.sessionId, callId: request.id });
    const asked = held?.confirmation?.confirmationId;
    // An answer to another confirmation does not count for this one.
    const isMeant = answer.confirmationId === undefined || answer.confirmationId === asked;
    if (isMeant && answer.approved) return made(run.callApproved(request, given));
    if (isMeant) await run.deny(request.id, answer.reason, { native: context });
    return made(run.callOrPending(request, given));
  };
}

/** A resumed run has the id of the call in its suspend payload. */
function suspendedUse({ agent }: MastraContext, id: string): number | undefined {
  const asked = isJsonObject(agent?.suspendPayload) ? ownValue(agent.suspendPayload, 'callId') : undefined;
  return typeof asked === 'string' ? earlierIn(asked, id) : undefined;
}
