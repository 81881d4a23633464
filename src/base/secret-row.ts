/** Secrets named by a neighbour: rows of names and values. */
import type { JsonObject, JsonValue } from './json.ts';
import type { SecretWalk } from './secret-walk.ts';

/** Is a text the name of a secret, in a place where texts are names? */
export function isNameOf(walk: SecretWalk, item: JsonValue): boolean {
  return typeof item === 'string' && item.length <= longestName && announces(walk, item);
}

const longestName = 120;

/** The name itself, or a label of the field with that name: "Password field". */
export const announces = ({ rules }: SecretWalk, name: string): boolean =>
  rules.readKey(name).announcesSecret || rules.readKey(name.replace(fieldWords, '')).announcesSecret;

const fieldWords = /[\s_-]+(?:field|input|box|textbox|text box|entry|header|header value|value)\W*$/i;

export type Row = {
  /** Are members called value secrets, members with similar names, and texts typed into a field? */
  readonly value: boolean;
  readonly otherValue: boolean;
  readonly typed: boolean;
  readonly hasUser: boolean;
  readonly program: string | undefined;
};

export const noRow: Row = {
  value: false,
  otherValue: false,
  typed: false,
  hasUser: false,
  program: undefined,
};

/** What the members of an object say about each other. */
export function readSecretRow(walk: SecretWalk, members: JsonObject): Row {
  let row = noRow;
  for (const key in members) {
    if (!Object.hasOwn(members, key)) continue;
    const member = members[key];
    const { role } = walk.rules.readKey(key);
    if (role === 'other' || typeof member !== 'string') continue;
    if (role === 'name' && isNameOf(walk, member)) row = { ...row, value: true, otherValue: true };
    else if (role === 'field' && isNameOf(walk, member))
      row = { ...row, value: true, otherValue: true, typed: true };
    else if (role === 'place' && isNameOf(walk, member)) row = { ...row, value: true };
    else if (role === 'user') row = { ...row, hasUser: true };
    else if (role === 'command')
      row = { ...row, program: row.program === undefined ? member : `${row.program} ${member}` };
  }
  return row;
}

/** `PWD` in an environment is the working directory; `credentials` of a fetch says whether cookies are sent. */
export const isSetting = (key: string, member: JsonValue): boolean =>
  typeof member === 'string' &&
  ((/^(?:old)?pwd$/i.test(key) && /^(?:\/|~|\.|[A-Za-z]:[\\/])/.test(member)) ||
    (key === 'credentials' && /^(?:include|omit|same-origin)$/.test(member)));
