/** The role of a key among its neighbours, for rows of names and values that contain secrets. */
import { squashName } from './secret-names.ts';

/**
 * - `name`: names something, and a `value` member contains it: `{name: "Authorization", value: x}`
 * - `field`: like `name`, for input fields: `{selector: "#password", text: x}`
 * - `place`: like `name`, but only with a member called value: `{op: "replace", path: "/user/password", value: x}`
 * - `value`, `plain value`, `typed`: the value of such a row
 * - `command`: a command line, or the program of an `argv` member
 * - `argv`: a list of arguments
 * - `env`, `headers`: a list of `NAME=value`, of `Name: value`, or of alternating names and values
 * - `user`, `pass`: `pass` is a password if there is also a user
 * - `auth`: `user:password`, or a list of the two
 */
export type KeyRole =
  | 'name'
  | 'field'
  | 'place'
  | 'value'
  | 'plain value'
  | 'typed'
  | 'command'
  | 'argv'
  | 'env'
  | 'headers'
  | 'user'
  | 'pass'
  | 'auth'
  | 'other';

const words: { readonly [Role in Exclude<KeyRole, 'other'>]: string } = {
  name: 'name key header headername field fieldname variable variablename varname envname parameter parametername param paramname attribute attributename property propertyname setting option flag k',
  field: 'label selector locator element placeholder arialabel inputname',
  place: 'path pointer ref',
  value: 'val values headervalue fieldvalue secretvalue newvalue argument v stringvalue encryptedvalue',
  typed: 'text content contents data input keys',
  'plain value': 'value',
  command:
    'command cmd commandline shell script bash sh powershell exec program executable binary bin file tool run entrypoint line',
  argv: 'args argv arguments flags options params parameters cmdargs commandargs',
  env: 'env envs environ environment environmentvariables envvars variables vars envfrom buildargs',
  headers: 'headers rawheaders httpheaders extraheaders requestheaders',
  user: 'user username login email userid uid account host hostname server',
  pass: 'pass pw',
  auth: 'auth basicauth httpauth proxyauth userpwd userpass',
};

const roles: ReadonlyMap<string, KeyRole> = new Map(
  Object.entries(words).flatMap(([role, names]) =>
    names.split(' ').map((name): [string, KeyRole] => [name, role as KeyRole]),
  ),
);

export const keyRoleOf = (key: string): KeyRole => roles.get(squashName(key)) ?? 'other';
