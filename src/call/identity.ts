/**
 * How the runtime knew who acted. Kept with every act of a person: a decision, a resolution, a grant, an undo, a report
 * of a hand-off, a move of a workflow, an erasure.
 *
 * 1. The union is closed. An event without an identity was written before identities were kept: "not recorded".
 * 2. Only the host and the doors of this package (HTTP server, command line) state an identity. Nothing in a request
 *    body, a model's output or a tool's result can.
 * 3. Field names are single words: they stand on disk as they are here.
 */
import type { JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';

export type Identity = DirectIdentity | LinkIdentity;

/** An identity without a link. Hosts may state these. */
export type DirectIdentity =
  | TokenIdentity
  | OsUserIdentity
  | ProviderIdentity
  /** Nothing verified the name: the host passed it on, or a person typed it. */
  | { readonly kind: 'self_asserted' };

/** The person presented a token of the HTTP server, or a browser session opened with it. */
export type TokenIdentity = {
  readonly kind: 'token';
  readonly id: string;
  readonly name: string;
  readonly via: 'bearer' | 'browser';
  /** Whose token it is, where one person has several. */
  readonly person?: string;
};

/** The person ran the command line as this user of the operating system. The name beside it was typed. */
export type OsUserIdentity = { readonly kind: 'os_user'; readonly user: string; readonly uid?: number };

/** An identity provider verified the person, e.g. by OpenID Connect. */
export type ProviderIdentity = {
  readonly kind: 'provider';
  readonly issuer: string;
  readonly subject: string;
  /** How the provider verified them, in its words, e.g. `oidc` or `saml`. */
  readonly method: string;
};

/** The person used a signed decision link. */
export type LinkIdentity = {
  readonly kind: 'link';
  readonly maker: LinkMaker;
  readonly holder: LinkHolder;
};

/** Who made a link. The service's own links give no right: they only say which question is meant. */
export type LinkMaker =
  | { readonly kind: 'service' }
  | { readonly kind: 'person'; readonly name: string; readonly identity: DirectIdentity };

/** How the person who used a link is known: the link names them, they typed a name, or they were signed in. */
export type LinkHolder =
  | { readonly kind: 'named' }
  | { readonly kind: 'typed'; readonly name: string }
  | { readonly kind: 'signed_in'; readonly identity: DirectIdentity };

export const selfAsserted: DirectIdentity = Object.freeze({ kind: 'self_asserted' });

const longestText = 1_000;
const isText = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= longestText && value.isWellFormed();

/** Has exactly these fields; those after the first list may be missing. */
function hasOnly(value: object, needed: readonly string[], more: readonly string[] = []): boolean {
  const keys = Object.keys(value);
  return (
    needed.every((key) => Object.hasOwn(value, key)) &&
    keys.every((key) => needed.includes(key) || more.includes(key))
  );
}

/** Reads an identity that a host states. Undefined where it is none of the union, or says more than its kind does. */
export function readDirectIdentity(value: unknown): DirectIdentity | undefined {
  if (!isJsonObject(value)) return undefined;
  const kind = value['kind'];
  if (typeof kind !== 'string') return undefined;
  switch (kind) {
    case 'token': {
      const { id, name, via, person } = value;
      if (!hasOnly(value, ['kind', 'id', 'name', 'via'], ['person'])) return undefined;
      if (!isText(id) || !isText(name) || (via !== 'bearer' && via !== 'browser')) return undefined;
      if (person !== undefined && !isText(person)) return undefined;
      return { kind, id, name, via, ...(person !== undefined && { person }) };
    }
    case 'os_user': {
      const { user, uid } = value;
      if (!hasOnly(value, ['kind', 'user'], ['uid']) || !isText(user)) return undefined;
      if (uid !== undefined && !(typeof uid === 'number' && Number.isSafeInteger(uid))) return undefined;
      return { kind, user, ...(uid !== undefined && { uid }) };
    }
    case 'provider': {
      const { issuer, subject, method } = value;
      if (!hasOnly(value, ['kind', 'issuer', 'subject', 'method'])) return undefined;
      if (!isText(issuer) || !isText(subject) || !isText(method)) return undefined;
      return { kind, issuer, subject, method };
    }
    case 'self_asserted':
      return hasOnly(value, ['kind']) ? selfAsserted : undefined;
    default:
      return undefined;
  }
}

/** Was the person verified by something other than their own word? A link that names a person is its maker's word. */
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

/** Did the act come from outside this machine's own processes? Then duties are separate for what runs an effect again. */
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
