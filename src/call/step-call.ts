/** Steps of a call for its one owner: `decide` and then `evolve`, without a copy of the call. */
import type { Command, EventDraft } from './command.ts';
import type { Subject } from './decide.ts';
import { decideOrThrow } from './decide.ts';
import type { CallEvent } from './event.ts';
import type { CallDraft } from './evolve.ts';
import { advance, toCall } from './evolve.ts';

/** A later step: the event of the command, and its effect on the call. */
export function stepCall(draft: CallDraft, command: Command | EventDraft, subject: Subject): CallEvent {
  const event = decideOrThrow(toCall(draft), command, subject);
  advance(draft, event);
  return event;
}
