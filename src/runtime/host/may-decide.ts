import type { Awaitable } from '../../base/json.ts';
import type { Redactor } from '../../base/redaction.ts';
import type { Call } from '../../call/call.ts';
import type { ConfirmationDecision, Identity } from '../../call/event.ts';
import { isRemote } from '../../call/identity.ts';
import type { Acting } from './acting.ts';
import type { ConfirmationView } from './confirmation-view.ts';
import { toConfirmationView } from './confirmation-view.ts';
import { askerAmong, dutiesAreSeparate } from './separate-duties.ts';
import type { UnresolvedCall } from './unresolved-call.ts';

/**
 * Says whether a person may decide about a call; a text says why not. `resolve` is asked about a call whose end is not
 * known: a resolution may let another call like it run. `identity` says how the person was identified; for the maker of
 * a link, how the maker was.
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
};

/** Why a person may not decide this. Undefined where they may: then `mayDecide` said `true`, if there is one. */
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
  return whyNotAllowed(engine, view, acting, decision);
}

/** Would an approval let an effect run that may have happened already? Over HTTP that always takes another person. */
const runsAgain = ({ confirmation }: Call): boolean =>
  confirmation?.asks.some(({ code }) => code === 'call.twin') ?? false;

/** Why a person may not act on a call they asked for themselves. */
export const whyAsker = (
  { redactor }: Pick<Deciders, 'redactor'>,
  call: Call,
  acting: Acting,
): string | undefined =>
  askerAmong(call, acting, redactor) === 'same'
    ? 'it was asked for by them or on their behalf, and duties are separate'
    : undefined;

/** Asks `mayDecide` about everybody whose right is used: the person, and the maker of the link they used. */
export async function whyNotAllowed(
  { mayDecide }: Pick<Deciders, 'mayDecide'>,
  view: ConfirmationView | UnresolvedCall,
  acting: Acting,
  decision: ConfirmationDecision | 'resolve',
): Promise<string | undefined> {
  if (mayDecide === undefined) return undefined;
  for (const { by, identity, isMaker } of rightsUsed(acting)) {
    const allowed: unknown = await mayDecide(by, view, decision, identity);
    if (allowed === true) continue;
    const why = typeof allowed === 'string' && allowed !== '' ? allowed : 'the host does not let them decide';
    return isMaker ? `${by}, who made the link, may not: ${why}` : why;
  }
  return undefined;
}

/** A name that was typed gives no right: that of the link's maker is used instead. */
function rightsUsed({ by, identity }: Acting): readonly (Acting & { readonly isMaker: boolean })[] {
  if (identity.kind !== 'link') return [{ by, identity, isMaker: false }];
  const { maker, holder } = identity;
  const makers = maker.kind === 'person' ? [{ by: maker.name, identity: maker.identity, isMaker: true }] : [];
  return holder.kind === 'typed' ? makers : [{ by, identity, isMaker: false }, ...makers];
}
