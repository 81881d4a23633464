/**
 * How the runtime identified the person who acted. Stored with every act of a person: a decision, a resolution, a grant,
 * an undo, a report of a hand-off, a change of a workflow, an erasure.
 *
 * 1. The union is closed. An event without an identity was written before identities were stored: "not
 *    recorded".
 * 2. Only the host, the HTTP server and the command line state an identity. A request body, a model's output
 *    or a tool's result cannot.
 * 3. Field names are single words, because they are the same on disk.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';

export type Identity = DirectIdentity | LinkIdentity;

/** An identity without a link. Hosts may state these. */
export type DirectIdentity =
  | TokenIdentity
  | OsUserIdentity
  | ProviderIdentity
  /** Unverified: the host passed the name on, or a person typed it. */
  | { readonly kind: 'self_asserted' };

/** The person presented a token of the HTTP server, or a browser session opened with it. */
export type TokenIdentity = {
  readonly kind: 'token';
  readonly id: string;
  readonly name: string;
  readonly via: 'bearer' | 'browser';
  /** The owner of the token, if one person has several. */
  readonly person?: string;
} & Memberships;

/** The person ran the command line as this user of the operating system, and typed their name. */
export type OsUserIdentity = { readonly kind: 'os_user'; readonly user: string; readonly uid?: number };

/** An identity provider verified the person, e.g. by OpenID Connect. */
export type ProviderIdentity = {
  readonly kind: 'provider';
  readonly issuer: string;
  readonly subject: string;
  /** The provider's name for the method, e.g. `oidc` or `saml`. */
  readonly method: string;
  /** The claim that is shown as the person's name. It gives no right: people can often change it. */
  readonly name?: string;
  /** Other names of the person: e-mail address, user name. They give no right; the requester of a call is found by them. */
  readonly aliases?: readonly string[];
  /** When the provider verified the person, in milliseconds since 1970. */
  readonly at?: number;
} & Memberships;

/** What a token or a provider says about a person at the time of the act. Rules about approvers read it. */
export type Memberships = {
  readonly groups?: readonly string[];
  readonly roles?: readonly string[];
};

/** The person used a signed decision link. */
export type LinkIdentity = {
  readonly kind: 'link';
  readonly maker: LinkMaker;
  readonly holder: LinkHolder;
};

/** The maker of a link. The service's own links give no permission: they only identify the question. */
export type LinkMaker =
  | { readonly kind: 'service' }
  | { readonly kind: 'person'; readonly name: string; readonly identity: DirectIdentity };

/** How the user of a link is known: the link names them, they typed a name, or they were signed in. */
export type LinkHolder =
  | { readonly kind: 'named' }
  | { readonly kind: 'typed'; readonly name: string }
  | { readonly kind: 'signed_in'; readonly identity: DirectIdentity };

export const selfAsserted: DirectIdentity = Object.freeze({ kind: 'self_asserted' });

const longestText = 1_000;
const isText = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= longestText && value.isWellFormed();

/** Maximum number of groups or roles. A longer list is refused. */
const mostMemberships = 500;
const isTextList = (value: JsonValue | undefined): value is readonly string[] =>
  Array.isArray(value) && value.length <= mostMemberships && value.every(isText);

/** The groups and roles in an identity. Undefined if they are malformed. */
function readMemberships({ groups, roles }: JsonObject): Memberships | undefined {
  if (groups !== undefined && !isTextList(groups)) return undefined;
  if (roles !== undefined && !isTextList(roles)) return undefined;
  return { ...(groups !== undefined && { groups }), ...(roles !== undefined && { roles }) };
}

/** True if the object has exactly these fields. Those of the second list are optional. */
function hasOnly(value: object, needed: readonly string[], more: readonly string[] = []): boolean {
  const keys = Object.keys(value);
  return (
    needed.every((key) => Object.hasOwn(value, key)) &&
    keys.every((key) => needed.includes(key) || more.includes(key))
  );
}

/** Reads an identity from a host. Undefined if it is not one of the union, or has extra fields. */
export function readDirectIdentity(value: unknown): DirectIdentity | undefined {
  if (!isJsonObject(value)) return undefined;
  const kind = value['kind'];
  if (typeof kind !== 'string') return undefined;
  switch (kind) {
    case 'token': {
      const { id, name, via, person } = value;
      if (!hasOnly(value, ['kind', 'id', 'name', 'via'], ['person', 'groups', 'roles'])) return undefined;
      if (!isText(id) || !isText(name) || (via !== 'bearer' && via !== 'browser')) return undefined;
      if (person !== undefined && !isText(person)) return undefined;
      const memberships = readMemberships(value);
      return memberships && { kind, id, name, via, ...(person !== undefined && { person }), ...memberships };
    }
    case 'os_user': {
      const { user, uid } = value;
      if (!hasOnly(value, ['kind', 'user'], ['uid']) || !isText(user)) return undefined;
      if (uid !== undefined && !(typeof uid === 'number' && Number.isSafeInteger(uid))) return undefined;
      return { kind, user, ...(uid !== undefined && { uid }) };
    }
    case 'provider': {
      return readProvider(value);
    }
    case 'self_asserted':
      return hasOnly(value, ['kind']) ? selfAsserted : undefined;
    default:
      return undefined;
  }
}

function readProvider(value: JsonObject): ProviderIdentity | undefined {
  const { issuer, subject, method, name, aliases, at } = value;
  if (!hasOnly(value, ['kind', 'issuer', 'subject', 'method'], ['name', 'aliases', 'at', 'groups', 'roles']))
    return undefined;
  if (!isText(issuer) || !isText(subject) || !isText(method)) return undefined;
  if (name !== undefined && !isText(name)) return undefined;
  if (aliases !== undefined && !isTextList(aliases)) return undefined;
  if (at !== undefined && !(typeof at === 'number' && Number.isSafeInteger(at))) return undefined;
  const memberships = readMemberships(value);
  if (memberships === undefined) return undefined;
  return {
    kind: 'provider',
    issuer,
    subject,
    method,
    ...(name !== undefined && { name }),
    ...(aliases !== undefined && { aliases }),
    ...(at !== undefined && { at }),
    ...memberships,
  };
}

/** True unless the name is self-asserted. For a link that names a person, its maker vouches. */
export function isVerified(identity: Identity): boolean {
  switch (identity.kind) {
    case 'token':
    case 'os_user':
    case 'provider':
      return true;
    case 'self_asserted':
      return false;
    case 'link':
      return identity.holder.kind === 'signed_in' && isVerified(identity.holder.identity);
  }
}

/**
 * True if the act came from outside this machine's own processes. Duties are then separate for anything that reruns an
 * effect.
 */
export function isRemote(identity: Identity): boolean {
  switch (identity.kind) {
    case 'token':
    case 'provider':
    case 'link':
      return true;
    case 'os_user':
    case 'self_asserted':
      return false;
  }
}
