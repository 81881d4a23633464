/** Sign-ins of people with an identity provider. */
import type { Role } from './role.ts';
import type { Integer, Timestamp } from './scalar.ts';

/** A person who is signed in. Issuer and subject identify the person; the name is for display. */
export type SignInView = {
  readonly signInId: string;
  readonly kind: 'browser' | 'command line';
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly role: Role;
  readonly createdAt: Timestamp;
  /** When the person last used it, to a twentieth of the idle time. */
  readonly seenAt: Timestamp;
  /** When the identity provider last confirmed the person. */
  readonly verifiedAt: Timestamp;
  /** Its end, if the person keeps using it and the provider keeps confirming them. */
  readonly endsAt: Timestamp;
};

/** `GET /v1/sign-ins`. */
export type SignInList = { readonly signIns: readonly SignInView[] };

/** `POST /v1/sign-ins/end`: ends all sign-ins of a person. */
export type SignInsToEnd = {
  /** @minLength 1 @maxLength 1000 */
  readonly issuer: string;
  /** @minLength 1 @maxLength 1000 */
  readonly subject: string;
};

export type EndedSignIns = { readonly ended: Integer };
