/** Which callers see a server or a tool. Without a list, all do. */
import type { Caller } from './client-request.ts';

/** `user:` and the id of a person, or `group:` and a group. The two are apart: a person may choose a name. */
export function isFor(onlyFor: readonly string[] | undefined, { principal, groups = [] }: Caller): boolean {
  if (onlyFor === undefined) return true;
  const { userId } = principal;
  return (
    (userId !== undefined && onlyFor.includes(`user:${userId}`)) ||
    groups.some((group) => onlyFor.includes(`group:${group}`))
  );
}
