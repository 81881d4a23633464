/**
 * A person as the identity provider describes them.
 *
 * 1. Issuer and subject identify the person. The name is a text for people and identifies no one.
 * 2. A claim that cannot be understood counts as missing: no groups, so no rights.
 */
import type { Person } from '../../runtime/host/sign-in-content.ts';
import { cutText } from '../../base/cut-text.ts';
import { nameSeparator } from '../../runtime/host/name-separator.ts';

const longestName = 120;
const longestGroup = 200;
const mostGroups = 500;

/** `claims` are of a verified ID token, or of the userinfo endpoint. */
export const toPerson = (
  issuer: string,
  subject: string,
  claims: Readonly<Record<string, unknown>>,
  groupsPath: readonly string[],
): Person => ({
  issuer,
  subject,
  name: nameIn(claims, subject),
  aliases: aliasesIn(claims),
  groups: groupsIn(claims, groupsPath),
});

const aliasClaims = ['email', 'preferred_username', 'upn'] as const;
/** The longest e-mail address. */
const longestAlias = 320;

function aliasesIn(claims: Readonly<Record<string, unknown>>): readonly string[] {
  const found = aliasClaims
    .map((claim) => claims[claim])
    .filter((value) => typeof value === 'string')
    .filter((text) => text.trim() !== '' && text.length <= longestAlias && text.isWellFormed());
  return [...new Set(found)];
}

function nameIn(claims: Readonly<Record<string, unknown>>, subject: string): string {
  for (const claim of ['name', 'preferred_username', 'email']) {
    const name = plainName(claims[claim]);
    if (name !== '') return name;
  }
  return plainName(subject) || 'unnamed person';
}

/** One short line. The separator would imitate the name of a worker. */
function plainName(value: unknown): string {
  if (typeof value !== 'string') return '';
  const plain = value
    .toWellFormed()
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')
    .replaceAll(nameSeparator, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return cutText(plain, longestName);
}

function groupsIn(claims: Readonly<Record<string, unknown>>, path: readonly string[]): readonly string[] {
  let found: unknown = claims;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return [];
    found = (found as Readonly<Record<string, unknown>>)[step]; // an object with this member
  }
  if (!Array.isArray(found) || found.length > mostGroups || !found.every(isGroup)) return [];
  return [...new Set(found)].toSorted();
}

const isGroup = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= longestGroup && value.isWellFormed();
