/** The role of a person. No entry, no rights. */
import type { Role } from '../api/role.ts';
import type { Person } from '../../runtime/host/sign-in-content.ts';
import type { SignInSettings } from './sign-in-options.ts';

/**
 * The role of the first entry that applies. Groups and subjects are compared exactly. A person of another provider has
 * none: groups of the same name mean something else there.
 */
export function roleOf(settings: SignInSettings, { issuer, subject, groups }: Person): Role | undefined {
  if (!isIssuer(settings, issuer)) return undefined;
  const rule = settings.roles.find((each) =>
    'group' in each ? groups.includes(each.group) : each.subject === subject,
  );
  return rule?.role;
}

export const isIssuer = ({ issuer }: SignInSettings, given: string): boolean =>
  URL.parse(given)?.href === issuer.href;
