/** A quick check that spares most calls the search for paths. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { argumentRoleOf } from '../sandbox/argument-role.ts';

/** State for the quick check of arguments. Roles are cached, since the same names come with every call. */
export type QuickLook = {
  readonly holdsOwnName: (text: string) => boolean;
  readonly roles: Map<string, boolean>;
};

const mostRoles = 1_000;

/** A separator, a character that normalizes to one, an escape, a pattern or a variable. */
const separatorLike =
  /[/\\~%$*?[\u2024-\u2026\u2044\u2215\u29f5\u29f8\u29f9\ufe30-\ufe6f\uff00-\uffef]|(?:^|\s)\.(?:$|\s)/i;

/** Something like a separator, or a file extension. */
export const pathLike: RegExp = new RegExp(`${separatorLike.source}|\\.\\w{1,12}\\b`, 'i');

/** False if nothing in the arguments can be a path: most calls end here. */
export function mayNamePaths(value: JsonValue, look: QuickLook): boolean {
  if (typeof value === 'string') return mayNamePath(value, look);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => mayNamePaths(item as JsonValue, look));
  const members = value as JsonObject;
  for (const key in members) {
    if (!Object.hasOwn(members, key)) continue;
    const inner = members[key] as JsonValue;
    if (
      (typeof inner === 'object' ? inner !== null : typeof inner === 'string' && inner !== '') &&
      namesFiles(key, look)
    )
      return true;
    if (mayNamePath(key, look) || mayNamePaths(inner, look)) return true;
  }
  return false;
}

/** In a text of several words and in mail addresses a dot says little, so only the names of own files count. */
function mayNamePath(text: string, { holdsOwnName }: QuickLook): boolean {
  if (text === '') return false;
  if (separatorLike.test(text)) return true;
  if (text.includes('.') && !/[\s@]/.test(text)) return true;
  return holdsOwnName(text);
}

function namesFiles(key: string, { roles }: QuickLook): boolean {
  const known = roles.get(key);
  if (known !== undefined) return known;
  const role = argumentRoleOf(key);
  const names = role !== 'other' && role !== 'prose' && role !== 'url';
  if (roles.size < mostRoles) roles.set(key, names);
  return names;
}
