import type { Awaitable } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { ConfirmationDecision } from '../call/event.ts';
import type { ConfirmationView } from './confirmation-view.ts';
import { toConfirmationView } from './confirmation-view.ts';
import type { UnresolvedCall } from './unresolved-call.ts';

/**
 * Says whether somebody may decide about a call; a text says why not. `resolve` is asked about a call nobody knows the
 * end of: whoever may say how it ended may let another like it run.
 */
export type MayDecide = (
  actor: string,
  subject: ConfirmationView | UnresolvedCall,
  decision: ConfirmationDecision | 'resolve',
) => Awaitable<boolean | string>;

/** Why somebody may not decide this. Undefined where they may: then `mayDecide` said so, and nothing but `true` does. */
export async function whyForbidden(
  {
    separateDuties,
    mayDecide,
  }: { readonly separateDuties: boolean; readonly mayDecide: MayDecide | undefined },
  call: Call,
  by: string,
  decision: ConfirmationDecision,
  /** Others who have a hand in it, and must not have asked for it either. */
  others: readonly string[] = [],
): Promise<string | undefined> {
  const view = toConfirmationView(call);
  if (view === undefined) return 'the call asks nothing';
  const requesters = [call.principal?.userId, call.principal?.serviceId];
  const deciders = [by, ...others];
  const isRequester = (name: string): boolean => requesters.some((each) => isSameName(each, name));
  if (separateDuties && decision !== 'deny' && deciders.some(isRequester))
    return 'it was asked for on their behalf, and duties are separate';
  if (mayDecide === undefined) return undefined;
  const allowed: unknown = await mayDecide(by, view, decision);
  if (allowed === true) return undefined;
  return typeof allowed === 'string' && allowed !== '' ? allowed : 'mayDecide says no';
}

/** Another spelling of a name is no other person. */
export const isSameName = (left: string | undefined, right: string): boolean =>
  left !== undefined && plain(left) === plain(right);
const plain = (name: string): string => name.normalize('NFKC').trim().toLowerCase();
