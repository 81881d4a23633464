/** Which claims of an access token give its holder a role of Quittance. */
import { allows, isRole } from 'quittance/internal/call/role';
import type { JsonObject } from 'quittance/internal/base/json';
import { QuittanceError } from 'quittance/internal/base/error';
import type { Role } from '@quittance/server/internal/http/api/role';

/** A token whose claim has this value gives the role. `scope` is read as a list of words. */
export type OAuthRole = { readonly role: Role; readonly claim: string; readonly value: string };

/** What counts if nothing is configured: scopes that an administrator of the issuer must create on purpose. */
export const defaultOAuthRoles: readonly OAuthRole[] = (
  ['admin', 'operator', 'approver', 'viewer'] as const
).map((role) => ({ role, claim: 'scope', value: `quittance:${role}` }));

/** Reads `operator=groups=ops`: a role, a claim and its value. */
export function readOAuthRole(text: string): OAuthRole {
  const [role, claim, ...rest] = text.split('=');
  const value = rest.join('=');
  if (!isRole(role) || claim === undefined || claim === '' || value === '')
    throw new QuittanceError(
      'config.invalid',
      `${JSON.stringify(text)} does not give a role. Write ROLE=CLAIM=VALUE, e.g. operator=groups=ops. Roles: viewer, operator, approver, admin.`,
    );
  return { role, claim, value };
}

/** The values of a claim: a list, or the words of a text. */
export function valuesOf(claims: Readonly<Record<string, unknown>>, claim: string): readonly string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (typeof value === 'string') return claim === 'scope' || claim === 'scp' ? value.split(' ') : [value];
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}

export type GivenRoles = {
  readonly given: readonly Role[];
  readonly mayCall: boolean;
  readonly mayRead: boolean;
};

/** What the claims allow on the MCP endpoint. */
export function rolesOf(claims: Readonly<Record<string, unknown>>, roles: readonly OAuthRole[]): GivenRoles {
  const found = roles.filter(({ claim, value }) => valuesOf(claims, claim).includes(value));
  const given = [...new Set(found.map(({ role }) => role))];
  return {
    given,
    mayCall: given.some((role) => allows(role, 'operator')),
    mayRead: given.some((role) => allows(role, 'viewer')),
  };
}

/** The claims that contracts may read, by the names that the roles use. */
export const claimsForContracts = (
  claims: Readonly<Record<string, unknown>>,
  roles: readonly OAuthRole[],
): JsonObject =>
  Object.fromEntries(
    [...new Set(roles.map(({ claim }) => claim))]
      .map((claim) => [claim, [...valuesOf(claims, claim)]] as const)
      .filter(([, values]) => values.length > 0),
  );

/** Names of groups for the tool lists of the configuration: the values of all claims that give roles. */
export const groupsOf = (
  claims: Readonly<Record<string, unknown>>,
  roles: readonly OAuthRole[],
): readonly string[] => [...new Set(roles.flatMap(({ claim }) => valuesOf(claims, claim)))];
