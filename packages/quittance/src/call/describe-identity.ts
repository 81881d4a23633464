/** Describes people, and how they were identified, for people. */
import type { DecidedBy } from './events/gate-event.ts';
import type { Grant } from './grant.ts';
import type { DirectIdentity, Identity } from './identity.ts';

/** Short enough for brackets after a name. */
export function describeIdentity(identity: Identity | undefined): string {
  if (identity === undefined) return 'identity not recorded';
  if (identity.kind !== 'link') return describeDirect(identity);
  const { maker, holder } = identity;
  const link =
    maker.kind === 'service'
      ? 'a link of the service'
      : `a link made by ${maker.name}, ${describeDirect(maker.identity)}`;
  switch (holder.kind) {
    case 'named':
      return `named in ${link}`;
    case 'typed':
      return `self-asserted name, by ${link}`;
    case 'signed_in':
      return `${describeDirect(holder.identity)}, by ${link}`;
  }
}

function describeDirect(identity: DirectIdentity): string {
  switch (identity.kind) {
    case 'token':
      return `token ${identity.id}${identity.via === 'browser' ? ' in a browser' : ''}${identity.person === undefined ? '' : ` of ${identity.person}`}`;
    case 'os_user':
      return `typed by OS user ${identity.user}`;
    case 'provider':
      return `verified by ${identity.issuer} as ${identity.subject} (${identity.method}${identity.at === undefined ? '' : `, ${describeInstant(identity.at)}`})`;
    case 'self_asserted':
      return 'self-asserted name';
  }
}

/** A decider for people: `ada (token 1f2e)`, `rule no-mail`. */
export function describeDecider(by: DecidedBy): string {
  if (by.type !== 'person') return `${by.type} ${by.name}`;
  return describePerson(by);
}

/** A person with how they were identified, and whether they requested the call themselves. */
export const describePerson = ({
  name,
  identity,
  asker,
  notReadToEnd,
  behalf,
}: {
  readonly name: string;
  readonly identity?: Identity | undefined;
  readonly asker?: DecidedBy['asker'];
  readonly notReadToEnd?: DecidedBy['notReadToEnd'];
  readonly behalf?: DecidedBy['behalf'];
}): string =>
  `${name} (${describeIdentity(identity)}${behalf === undefined ? '' : behalf.map((each) => `; for ${each.name}`).join('')}${asker === 'same' ? '; also asked for this call' : ''}${notReadToEnd === true ? '; had not read to the end' : ''})`;

/** Everyone who gave a grant: one person, or those who approved a call for its session. */
export const describeGivers = ({
  by,
  identity,
  approved,
}: Pick<Grant, 'by' | 'identity' | 'approved'>): string =>
  (approved?.votes.map((vote) => vote.by) ?? [{ name: by, identity }]).map(describePerson).join(', ');

/** A provider may state a time that no date can hold. */
const describeInstant = (at: number): string => {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString();
};
