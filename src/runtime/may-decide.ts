import type { Awaitable } from '../base/json.ts';
import type { ConfirmationDecision } from '../call/event.ts';
import type { ConfirmationView } from './confirmation-view.ts';

/** Says whether somebody may decide about a call; a text says why not. */
export type MayDecide = (
  actor: string,
  confirmation: ConfirmationView,
  decision: ConfirmationDecision,
) => Awaitable<boolean | string>;
