/** Steps of a call for its one owner: `decide` and then `evolve`, without a copy of the call. */
import type { Call } from './call.ts';
import type { Command } from './command.ts';
import type { Subject } from './decide.ts';
import { decide } from './decide.ts';
import type { CallEvent } from './event.ts';
import type { CallDraft } from './evolve.ts';
import { advance, begin, toCall } from './evolve.ts';

export type OpenedCall = { readonly event: CallEvent; readonly draft: CallDraft; readonly call: Call };

/** The first step. `call` and `draft` are the same object: later steps change it in place. */
export function openCall(command: Command, subject: Subject): OpenedCall {
  const event = eventOf(undefined, command, subject);
  const draft = begin(event);
  return { event, draft, call: toCall(draft) };
}

/** A later step: the event of the command, and its effect on the call. */
export function stepCall(draft: CallDraft, command: Command, subject: Subject): CallEvent {
  const event = eventOf(toCall(draft), command, subject);
  advance(draft, event);
  return event;
}

/** The event of a command, without its effect. A refusal is a mistake of the runtime, not of a user. */
export function eventOf(call: Call | undefined, command: Command, subject: Subject): CallEvent {
  const decision = decide(call, command, subject);
  if (!decision.ok) throw new TypeError(`${command.type} of call ${subject.callId}: ${decision.refusal}`);
  return decision.event;
}
