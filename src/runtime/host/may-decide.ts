import type { Awaitable } from '../../base/json.ts';
import type { Redactor } from '../../base/redaction.ts';
import type { Call } from '../../call/call.ts';
import type { ConfirmationDecision, Identity } from '../../call/event.ts';
import { isRemote } from '../../call/identity.ts';
import { hasPolicy } from '../../call/quorum.ts';
import { whyNotApprover } from '../../call/why-not-approver.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Acting } from './acting.ts';
import { approverOf } from './approver.ts';
import type { ConfirmationView } from './confirmation-view.ts';
import { toConfirmationView } from './confirmation-view.ts';
import { askerAmong, dutiesAreSeparate } from './separate-duties.ts';
import type { Needed } from './rights.ts';
import { whyRoleForbids } from './rights.ts';
import type { UnresolvedCall } from './unresolved-call.ts';

/**
 * May a person decide about a call? A text says why not. `resolve` is asked about a call with an unknown
 * effect: its resolution may let an identical call run. `identity` says how the person, or the maker of a
 * link, was identified.
 */
export type MayDecide = (
  actor: string,
  subject: ConfirmationView | UnresolvedCall,
  decision: ConfirmationDecision | 'resolve',
  identity: Identity,
) => Awaitable<boolean | string>;

export type Deciders = {
  readonly separateDuties: boolean;
  readonly mayDecide: MayDecide | undefined;
  readonly redactor: Redactor;
  readonly ledger: Pick<Ledger, 'journal' | 'entries' | 'now'>;
};

/**
 * Why a person may not decide this. Undefined means that they may, and that `mayDecide`, if set, returned
 * `true`.
 */
export async function whyForbidden(
  engine: Deciders,
  call: Call,
  acting: Acting,
  decision: ConfirmationDecision,
): Promise<string | undefined> {
  const view = toConfirmationView(call);
  if (view === undefined) return 'the call asks nothing';
  const mustDiffer = dutiesAreSeparate(engine, call) || (isRemote(acting.identity) && runsAgain(call));
  if (decision !== 'deny' && mustDiffer) {
    const why = whyAsker(engine, call, acting);
    if (why !== undefined) return why;
  }
  const { confirmation } = call;
  if (confirmation !== undefined && hasPolicy(confirmation.asks)) {
    const by = await approverOf(engine, call, acting);
    const why = whyNotApprover(confirmation, { decision, by }, engine.ledger.now());
    if (why !== undefined) return why;
  }
  return whyNotAllowed(engine, view, acting, decision);
}

/**
 * Would an approval let an effect run that may have happened already? Over HTTP that always needs another
 * person.
 */
const runsAgain = ({ confirmation }: Call): boolean =>
  confirmation?.asks.some(({ code }) => code === 'call.twin') ?? false;

/** Why a person may not act on a call they requested themselves. */
export const whyAsker = (
  { redactor }: Pick<Deciders, 'redactor'>,
  call: Call,
  acting: Acting,
): string | undefined =>
  askerAmong(call, acting, redactor) === 'same'
    ? 'it was asked for by them or on their behalf, and duties are separate'
    : undefined;

/**
 * Asks `mayDecide` about each person whose permission is used: the person, and the maker of the link they
 * used.
 */
export async function whyNotAllowed(
  { mayDecide }: Pick<Deciders, 'mayDecide'>,
  view: ConfirmationView | UnresolvedCall,
  acting: Acting,
  decision: ConfirmationDecision | 'resolve',
  needed: Needed = 'approver',
): Promise<string | undefined> {
  for (const { by, identity, isMaker } of rightsUsed(acting)) {
    const why = whyRoleForbids(identity, needed);
    if (why !== undefined) return isMaker ? `${by}, who made the link, may not: ${why}` : why;
    if (mayDecide === undefined) continue;
    const allowed: unknown = await mayDecide(by, view, decision, identity);
    if (allowed === true) continue;
    const not = typeof allowed === 'string' && allowed !== '' ? allowed : 'the host does not let them decide';
    return isMaker ? `${by}, who made the link, may not: ${not}` : not;
  }
  return undefined;
}

/** A typed name gives no permission: that of the link's maker is used instead. */
function rightsUsed({ by, identity }: Acting): readonly (Acting & { readonly isMaker: boolean })[] {
  if (identity.kind !== 'link') return [{ by, identity, isMaker: false }];
  const { maker, holder } = identity;
  const makers = maker.kind === 'person' ? [{ by: maker.name, identity: maker.identity, isMaker: true }] : [];
  return holder.kind === 'typed' ? makers : [{ by, identity, isMaker: false }, ...makers];
}
