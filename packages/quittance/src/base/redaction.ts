/**
 * Makes the redacted form of payloads: what may be stored, shown and sent to the model.
 *
 * 1. If nothing is hidden, the value itself is returned, not a copy.
 * 2. The paths in `hidden` reveal nothing: a key that contains a secret is masked there too.
 * 3. A value of at least 8 characters that is hidden in one place is hidden everywhere.
 * 4. Redacting a redacted value again changes nothing.
 */
import { QuittanceError } from './error.ts';
import type { JsonValue, JsonObject } from './json.ts';
import { createKnownSecrets, shortestShared } from './known-secrets.ts';
import type { RedactionPath } from './redaction-path.ts';
import { maskPath, parseRedactionPath, valuesAt } from './redaction-path.ts';
import { createTextMask, cutOut, type TextMask, findSplitKeys, isWebKeyPart } from './text-mask.ts';
import { redacted } from './secret-pattern.ts';
import { squashName, createNameCheck } from './secret-names.ts';
import { isProgram, secretsInArguments } from './command-secrets.ts';
import { defineMember, formatPath, isJsonObject, deepest, findNesting, readJsonText } from './json.ts';
import { createKeyPicker } from './key-picker.ts';
import type { SplitKeys } from './text-mask.ts';

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

/** Everything known about the key of a member. */
export type KeyReading = {
  /** Its name says that the value is a secret. */
  readonly announcesSecret: boolean;
  /** Its role among its neighbours. */
  readonly role: KeyRole;
  /** The key itself, without secrets. */
  readonly shown: string;
};

export interface KeyRules {
  readonly keyNames: readonly (string | RegExp)[];
  readonly keepKeys: readonly string[];
  readonly defaults: boolean;
  readonly maskText: (text: string) => string;
}

/** The same few keys occur in every call. Beyond these bounds keys are data and are read again each time. */
const mostKnownKeys = 2_000;
const longestKnownKey = 64;

/** Reads keys, and caches those that contain no secret themselves. */
export function createKeyReader({
  keyNames,
  keepKeys,
  defaults,
  maskText,
}: KeyRules): (key: string) => KeyReading {
  const isSecretName = createNameCheck(
    keyNames.filter((keyName) => typeof keyName === 'string'),
    defaults,
  );
  const patterns = keyNames.filter((keyName) => typeof keyName !== 'string').map(withoutPosition);
  const kept = new Set(keepKeys.map(squashName));
  const known = new Map<string, KeyReading>();

  const announcesSecret = (key: string): boolean =>
    (isSecretName(key) || patterns.some((pattern) => pattern.test(key))) && !kept.has(squashName(key));

  return (key) => {
    const remembered = known.get(key);
    if (remembered !== undefined) return remembered;
    const shown = maskText(key);
    const plain = plainKey(key);
    const reading: KeyReading = {
      announcesSecret: [...new Set([key, shown, plain])].some(announcesSecret),
      role: defaults ? keyRoleOf(plain) : 'other',
      shown,
    };
    if (shown === key && key.length <= longestKnownKey && known.size < mostKnownKeys) known.set(key, reading);
    return reading;
  };
}

/** Full-width and similar letters become the usual ones, and accents that were typed apart become one letter. */
const plainKey = (key: string): string => key.normalize('NFKC');

/** A global or sticky pattern continues after its last match and would miss every second key. */
const withoutPosition = (pattern: RegExp): RegExp =>
  new RegExp(pattern.source, pattern.flags.replaceAll(/[gy]/g, ''));

/** What a host may add to, or remove from, the default redaction. */
export interface RedactionOptions {
  /** More names whose values are secrets: words at the end of a name, or a pattern for whole names. */
  readonly keyNames?: readonly (string | RegExp)[];
  /** More shapes of secrets. A group named `secret` limits what is hidden to that part of the match. */
  readonly patterns?: readonly { readonly name: string; readonly pattern: RegExp }[];
  /** Names that are never hidden because of their name. */
  readonly keepKeys?: readonly string[];
  /** False: only what is listed here is hidden. */
  readonly defaults?: boolean;
}

/** A payload without its secrets. */
export type Redacted = {
  readonly value: JsonValue;
  /** Paths of hidden values, e.g. `$.card.number`; empty if `value` is unchanged. */
  readonly hidden: readonly string[];
  /** Those of `hidden` whose value is a secret only because of another place. */
  readonly repeated: readonly string[];
  /** The hidden values, in clear. Kept in memory only, to find repetitions. */
  readonly secrets: readonly string[];
};

export interface Redactor {
  /**
   * Hides by the names of members, by the form of values, and at `paths`. A secret of at least 8 characters that is
   * hidden in one place, or is in `known`, is hidden everywhere in the value.
   */
  input(value: JsonValue, paths?: readonly string[], known?: readonly string[]): Redacted;
  /** The same without the names of members: names in an output may mean anything. */
  output(value: JsonValue, paths?: readonly string[]): Redacted;
  /** Like `input`; undefined if nothing is hidden. */
  hideInInput(value: JsonValue, paths?: readonly string[], known?: readonly string[]): Redacted | undefined;
  /** Like `output`; undefined if nothing is hidden. */
  hideInOutput(value: JsonValue, paths?: readonly string[]): Redacted | undefined;
  /** Hides the parts of a text that look like a secret. */
  text(text: string): string;
}

const nothing: readonly string[] = Object.freeze([]);

const optionNames: ReadonlySet<string> = new Set(['keyNames', 'patterns', 'keepKeys', 'defaults']);

/** Creates a redactor. Throws `config.invalid` if an option cannot work. */
export function createRedactor(options: RedactionOptions = {}): Redactor {
  for (const key of Object.keys(options))
    if (!optionNames.has(key))
      throw new QuittanceError(
        'config.invalid',
        `No option of redaction named ${JSON.stringify(key)}. Known options: ${[...optionNames].join(', ')}.`,
      );
  const { keyNames = [], patterns = [], keepKeys = [], defaults = true } = options;
  for (const keyName of keyNames) checkKeyName(keyName);
  for (const pattern of patterns) checkPattern(pattern);
  for (const key of keepKeys) if (typeof key !== 'string') refuse('keepKeys', 'strings', key);

  const maskText = createTextMask(defaults, patterns);
  const maskCommand = createTextMask(defaults, patterns, { isCommand: true });
  const readKey = createKeyReader({ keyNames, keepKeys, defaults, maskText });
  const parsePaths = createPathReader();

  const hideBy = (rules: SecretRules): Redactor['hideInInput'] => {
    /** Most payloads hide nothing, so the walk of one that found nothing serves for the next. */
    let spare: SecretWalk | undefined;
    return (value, paths = nothing, known = nothing) => {
      const walk = spare ?? startWalk(rules);
      spare = undefined;
      const { hidden, secrets } = walk.found;
      let kept = hideSecrets(value, walk);
      if (paths.length > 0)
        for (const path of parsePaths(paths)) {
          for (const leaf of valuesAt(value, path)) collectSecretLeaves(leaf, maskText, secrets);
          kept = maskPath(kept, path, redacted, hidden);
        }
      if (secrets.size === 0 && hidden.length === 0 && known.length === 0) {
        spare = walk;
        return undefined;
      }
      addParts(secrets);
      const repeated: string[] = [];
      if (secrets.size > 0 || known.length > 0)
        kept = createKnownSecrets([...secrets, ...known], shortestShared).json(kept, repeated);
      hidden.push(...repeated);
      return hidden.length === 0
        ? undefined
        : { value: kept, hidden: [...new Set(hidden)], repeated, secrets: [...secrets] };
    };
  };

  const hideInInput = hideBy({ maskText, maskCommand, readKey, byName: true });
  const hideInOutput = hideBy({ maskText, maskCommand, readKey, byName: false });
  return {
    input: (value, paths, known) => hideInInput(value, paths, known) ?? unchanged(value),
    output: (value, paths) => hideInOutput(value, paths) ?? unchanged(value),
    hideInInput,
    hideInOutput: (value, paths) => hideInOutput(value, paths),
    text: (text) => maskText(text),
  };
}

const unchanged = (value: JsonValue): Redacted => ({
  value,
  hidden: nothing,
  repeated: nothing,
  secrets: nothing,
});

/** A tool passes the same list with every call, so it is read only once. */
function createPathReader(): (paths: readonly string[]) => readonly RedactionPath[] {
  const known = new WeakMap<readonly string[], readonly RedactionPath[]>();
  return (paths) => {
    const parsed = known.get(paths) ?? paths.map(parseRedactionPath);
    known.set(paths, parsed);
    return parsed;
  };
}

function checkKeyName(keyName: unknown): void {
  if (typeof keyName === 'string' ? squashName(keyName) !== '' : isRegExp(keyName)) return;
  refuse('keyNames', 'names with at least one letter, or RegExps', keyName);
}

function checkPattern(entry: unknown): void {
  const { name, pattern } = (entry ?? {}) as { name?: unknown; pattern?: unknown };
  if (typeof name !== 'string' || name === '') refuse('patterns', 'entries with a name', name);
  if (!isRegExp(pattern)) refuse('patterns', `a RegExp as the pattern of ${JSON.stringify(name)}`, pattern);
}

/** Also true for one from another realm, as in a test runner. */
const isRegExp = (value: unknown): value is RegExp =>
  Object.prototype.toString.call(value) === '[object RegExp]';

function refuse(option: string, expected: string, found: unknown): never {
  const shown =
    typeof found === 'string' ? JSON.stringify(found.slice(0, 40)) : `a value of type ${typeof found}`;
  throw new QuittanceError('config.invalid', `redaction.${option} takes ${expected}; found ${shown}.`);
}

/**
 * Walks a payload and hides its secrets: by the form of values and, in inputs, by their names. A name is a key, but
 * also a neighbour in a row, a pair, a list of arguments or a JSON text.
 */

/** No pattern matches a number with fewer digits. */
const leastSecretNumber = 1e12;

/** Nested JSON texts are read up to this depth. Each level doubles the backslashes. */
const deepestText = 6;

/** The value without its secrets; the value itself if it has none. */
function hideSecrets(value: JsonValue, walk: SecretWalk): JsonValue {
  walk.splitKeys = findSplitKeys(value);
  return visit(walk, value, 'other');
}

function visit(walk: SecretWalk, at: JsonValue, role: KeyRole): JsonValue {
  if (typeof at === 'string') return note(walk, maskOne(walk, at, role), at);
  if (typeof at === 'number') return note(walk, maskNumber(walk, at), at);
  if (typeof at !== 'object' || at === null) return at;
  return Array.isArray(at)
    ? visitItems(walk, at as readonly JsonValue[], role, undefined)
    : visitMembers(walk, at as JsonObject);
}

function note({ found, trail }: SecretWalk, kept: JsonValue, before: JsonValue): JsonValue {
  if (kept !== before) found.hidden.push(formatPath(trail));
  return kept;
}

/** Hides a whole value. Empty values stay: models fill optional fields with null. */
function hideAll(walk: SecretWalk, value: JsonValue): JsonValue {
  if (value === null || value === '' || value === redacted) return value;
  collectSecretLeaves(value, walk.rules.maskText, walk.found.secrets);
  return note(walk, redacted, value);
}

function visitItems(
  walk: SecretWalk,
  items: readonly JsonValue[],
  role: KeyRole,
  program: string | undefined,
): JsonValue {
  if (holdsSecretBytes(walk, items)) return note(walk, redacted, items);
  const hides = walk.rules.byName ? hiddenItems(walk, items, role, program) : undefined;
  let copy: JsonValue[] | undefined;
  for (let index = 0; index < items.length; index++) {
    const item = items[index] as JsonValue;
    walk.trail.push(index);
    const hide = hides?.get(index);
    const kept =
      hide === undefined
        ? (hideKeyPart(walk, items, index, item) ?? visitItem(walk, item, role))
        : hide === 'all'
          ? hideAll(walk, item)
          : note(walk, hide.text, item);
    walk.trail.pop();
    if (kept !== item) (copy ??= [...items])[index] = kept;
  }
  return copy ?? items;
}

/** The text without its part of a private key, if the key is spread over several texts. */
function hideKeyPart(
  walk: SecretWalk,
  holder: object,
  key: string | number,
  text: JsonValue,
): JsonValue | undefined {
  const spans = walk.splitKeys.get(holder)?.get(key);
  if (spans === undefined || typeof text !== 'string') return undefined;
  for (const [start, end] of spans) walk.found.secrets.add(text.slice(start, end));
  return note(walk, walk.rules.maskText(cutOut(text, [...spans]), walk.found.secrets), text);
}

/** A shorter list of bytes is not searched: it may be anything. */
const fewestBytes = 32;

/** A file read without an encoding is a list of bytes. */
function holdsSecretBytes({ rules, found }: SecretWalk, items: readonly JsonValue[]): boolean {
  if (items.length < fewestBytes || !items.every(isByte)) return false;
  const text = Buffer.from(items as number[]).toString('latin1');
  return rules.maskText(text, found.secrets) !== text;
}

const isByte = (item: JsonValue): boolean =>
  typeof item === 'number' && Number.isInteger(item) && item >= 0 && item < 256;

function visitItem(walk: SecretWalk, item: JsonValue, role: KeyRole): JsonValue {
  const { byName } = walk.rules;
  if (byName && Array.isArray(item) && item.length === 2 && isNameOf(walk, item[0] as JsonValue))
    return visitPair(walk, item as readonly JsonValue[]);
  // A list names its items, if that matters: env, headers, argv, commands.
  return visit(walk, item, role);
}

/** `["Authorization", "Bearer x"]` in a list of such pairs. */
function visitPair(walk: SecretWalk, pair: readonly JsonValue[]): JsonValue {
  walk.trail.push(1);
  const kept = hideAll(walk, pair[1] as JsonValue);
  walk.trail.pop();
  return kept === pair[1] ? pair : [pair[0] as JsonValue, kept];
}

type Hiding = ReadonlyMap<number, 'all' | { readonly text: string }>;

/** Items of a list of texts that are secrets because of the text before them. */
function hiddenItems(
  walk: SecretWalk,
  items: readonly JsonValue[],
  role: KeyRole,
  program: string | undefined,
): Hiding | undefined {
  const hides = new Map<number, 'all' | { readonly text: string }>();
  if (role === 'headers' && items.length % 2 === 0 && items.every(isBareText))
    for (let index = 0; index < items.length; index += 2)
      if (isNameOf(walk, items[index] as JsonValue)) hides.set(index + 1, 'all');
  if (role === 'auth' && items.length === 2 && items.every((item) => typeof item === 'string'))
    hides.set(1, 'all');
  if (program !== undefined || items.some(isFlagLike) || isProgram(items[0])) {
    const isSecretName = (name: string): boolean => walk.rules.readKey(name).announcesSecret;
    for (const { index, spans } of secretsInArguments(items, program, isSecretName)) {
      const text = items[index] as string; // secrets are found in texts only
      for (const [start, end] of spans) walk.found.secrets.add(text.slice(start, end));
      const kept = walk.rules.maskText(cutOut(text, [...spans]), walk.found.secrets);
      if (!hides.has(index)) hides.set(index, { text: kept });
    }
  }
  return hides.size === 0 ? undefined : hides;
}

const isBareText = (item: JsonValue): boolean => typeof item === 'string' && !/^[\w-]+:\s/.test(item);

const isFlagLike = (item: JsonValue): boolean => typeof item === 'string' && /^[-/][\w-]/.test(item);

function visitMembers(walk: SecretWalk, members: JsonObject): JsonValue {
  const { rules, trail } = walk;
  const row = rules.byName ? readSecretRow(walk, members) : noRow;
  let changes: Map<string, readonly [key: string, value: JsonValue]> | undefined;
  let pickKey: ((key: string, shown: string) => string) | undefined;
  for (const key in members) {
    if (!Object.hasOwn(members, key)) continue;
    const member = members[key] as JsonValue;
    const shown = rules.byName ? rules.readKey(key).shown : rules.maskText(key);
    const keptKey = shown === key ? key : (pickKey ??= createKeyPicker(members))(key, shown);
    trail.push(keptKey);
    if (keptKey !== key) {
      rules.maskText(key, walk.found.secrets);
      note(walk, keptKey, key);
    }
    const kept =
      hideKeyPart(walk, members, key, member) ??
      (isWebKeyPart(members, key) ? hideAll(walk, member) : visitMember(walk, member, key, row));
    trail.pop();
    if (kept !== member || keptKey !== key) (changes ??= new Map()).set(key, [keptKey, kept]);
  }
  return changes === undefined ? members : applyChanges(members, changes);
}

function applyChanges(
  members: JsonObject,
  changes: ReadonlyMap<string, readonly [key: string, value: JsonValue]>,
): JsonObject {
  const copy: { [key: string]: JsonValue } = {};
  for (const [key, member] of Object.entries(members)) {
    const [keptKey, kept] = changes.get(key) ?? [key, member];
    defineMember(copy, keptKey, kept);
  }
  return copy;
}

function visitMember(walk: SecretWalk, member: JsonValue, key: string, row: Row): JsonValue {
  if (!walk.rules.byName) return visit(walk, member, 'other');
  const { role, announcesSecret } = walk.rules.readKey(key);
  if (announcesSecret && !isSetting(key, member)) return hideAll(walk, member);
  if (row.value && role === 'plain value') return hideAll(walk, member);
  if (row.otherValue && role === 'value') return hideAll(walk, member);
  if (row.typed && role === 'typed') return hideAll(walk, member);
  if (row.hasUser && role === 'pass') return hideAll(walk, member);
  if (role === 'argv' && row.program !== undefined) {
    if (Array.isArray(member)) return visitItems(walk, member as readonly JsonValue[], role, row.program);
    if (typeof member === 'string') return note(walk, maskTail(walk, row.program, member), member);
  }
  return visit(walk, member, role);
}

/** The arguments of a program, written as one text. */
function maskTail({ rules, found }: SecretWalk, program: string, text: string): string {
  const head = `${program} `;
  const masked = rules.maskCommand(head + text, found.secrets);
  return masked.startsWith(head) ? masked.slice(head.length) : rules.maskText(text, found.secrets);
}

function maskOne(walk: SecretWalk, text: string, role: KeyRole): string {
  const { rules, found } = walk;
  if (!rules.byName) return rules.maskText(text, found.secrets);
  const json = maskJsonText(walk, text);
  if (json !== undefined) return json;
  const assignment = role === 'env' ? envAssignment : role === 'headers' ? headerLine : oneAssignment;
  const match = assignment.exec(text);
  if (match !== null) {
    const [, before = '', name = '', value = ''] = match;
    if (name !== '' && value !== '' && value !== redacted && announces(walk, name)) {
      collectSecretLeaves(value, rules.maskText, found.secrets);
      return `${before}${redacted}`;
    }
  }
  if (role === 'auth') return maskPassword(walk, text);
  return role === 'command' || role === 'argv'
    ? rules.maskCommand(text, found.secrets)
    : rules.maskText(text, found.secrets);
}

const envAssignment = /^((?:export\s+)?([\w.[\]-]{1,120})\s*=)([\s\S]+)$/;

const headerLine = /^(([\w.[\]-]{1,120})\s*:\s*)([\s\S]+)$/;

/** A single word such as `password=p;w,x`, not the rest of a command line. */
const oneAssignment = /^((?:--?)?([A-Za-z_][\w.[\]-]{0,119})=)([^\s&$<{(][^\s&]*)$/;

/** The password of `user:password`. */
function maskPassword({ rules, found }: SecretWalk, text: string): string {
  const colon = text.indexOf(':');
  if (colon <= 0 || /\s|:\/\//.test(text)) return rules.maskText(text, found.secrets);
  found.secrets.add(text.slice(colon + 1));
  return `${text.slice(0, colon + 1)}${redacted}`;
}

/** Here, because an expression inside a function makes an object for every text. */
const jsonLike = /^\s*(?:[[{]|"[\s\S]*[:=])/;

/** Reads a text that is JSON as data; undefined if it is not JSON, or its names hide nothing. */
function maskJsonText(walk: SecretWalk, text: string): string | undefined {
  if (walk.textDepth >= deepestText || !jsonLike.test(text.slice(0, 200))) return undefined;
  const value = readInnerJson(text);
  // No walk reaches the secrets of such a text, so all of it is hidden.
  if (value === 'too deep') {
    collectSecretLeaves(text, walk.rules.maskText, walk.found.secrets);
    return redacted;
  }
  if (value === undefined || (typeof value.json !== 'object' && typeof value.json !== 'string'))
    return undefined;
  const found: FoundSecrets = { hidden: [], secrets: walk.found.secrets };
  const kept = visit(
    { ...walk, found, trail: [], textDepth: walk.textDepth + 1, splitKeys: findSplitKeys(value.json) },
    value.json,
    'other',
  );
  return found.hidden.length === 0 ? undefined : JSON.stringify(kept);
}

function maskNumber({ rules, found }: SecretWalk, value: number): JsonValue {
  if (Math.abs(value) < leastSecretNumber) return value;
  const text = String(value);
  const masked = rules.maskText(text, found.secrets);
  return masked === text ? value : masked;
}

/** Secrets named by a neighbour: rows of names and values. */

/** Is a text the name of a secret, in a place where texts are names? */
function isNameOf(walk: SecretWalk, item: JsonValue): boolean {
  return typeof item === 'string' && item.length <= longestName && announces(walk, item);
}

const longestName = 120;

/** The name itself, or a label of the field with that name: "Password field". */
const announces = ({ rules }: SecretWalk, name: string): boolean =>
  rules.readKey(name).announcesSecret || rules.readKey(name.replace(fieldWords, '')).announcesSecret;

const fieldWords = /[\s_-]+(?:field|input|box|textbox|text box|entry|header|header value|value)\W*$/i;

type Row = {
  /** Are members called value secrets, members with similar names, and texts typed into a field? */
  readonly value: boolean;
  readonly otherValue: boolean;
  readonly typed: boolean;
  readonly hasUser: boolean;
  readonly program: string | undefined;
};

const noRow: Row = {
  value: false,
  otherValue: false,
  typed: false,
  hasUser: false,
  program: undefined,
};

/** What the members of an object say about each other. */
function readSecretRow(walk: SecretWalk, members: JsonObject): Row {
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
const isSetting = (key: string, member: JsonValue): boolean =>
  typeof member === 'string' &&
  ((/^(?:old)?pwd$/i.test(key) && /^(?:\/|~|\.|[A-Za-z]:[\\/])/.test(member)) ||
    (key === 'credentials' && /^(?:include|omit|same-origin)$/.test(member)));

/** Decides what is hidden, for each text and each key. */
export interface SecretRules {
  readonly maskText: TextMask;
  /** The same for a text that is a command line. */
  readonly maskCommand: TextMask;
  readonly readKey: (key: string) => KeyReading;
  /** Can the name of a member mark its value as secret? */
  readonly byName: boolean;
}

/** The findings of a walk. */
export type FoundSecrets = {
  /** Paths of hidden values. */
  readonly hidden: string[];
  /** The hidden values. */
  readonly secrets: Set<string>;
};

export type SecretWalk = {
  readonly rules: SecretRules;
  readonly found: FoundSecrets;
  /** The keys from the root to the current value. Empty again after the walk. */
  readonly trail: (string | number)[];
  readonly textDepth: number;
  /** Parts of private keys that are spread over several texts. */
  splitKeys: SplitKeys;
};

export const startWalk = (rules: SecretRules): SecretWalk => ({
  rules,
  found: { hidden: [], secrets: new Set<string>() },
  trail: [],
  textDepth: 0,
  splitKeys: new Map(),
});

/** Adds the texts and numbers in a hidden value to `found`, and the secrets inside those texts. */
export function collectSecretLeaves(value: JsonValue, maskText: TextMask, found: Set<string>): void {
  if (typeof value === 'string') addText(value, maskText, found);
  else if (typeof value === 'number') found.add(String(value));
  else if (Array.isArray(value))
    for (const item of value as readonly JsonValue[]) collectSecretLeaves(item, maskText, found);
  else if (isJsonObject(value))
    for (const item of Object.values(value)) collectSecretLeaves(item, maskText, found);
}

const scheme = /^\s*(?:bearer|basic|token|apikey|api-key|digest|negotiate|ssws|bot|sso-key|key)\s+(\S.*)$/is;
const cookie = /(?:^|[;,])\s*[\w.$!%*-]{1,64}=([^;,]+)/g;
/** Longer texts are files: secrets inside them are found only by their form. */
const longestPart = 65_536;
/** A shorter one is a setting: `theme=dark`. */
const shortestPart = 8;

function addText(text: string, maskText: TextMask, found: Set<string>): void {
  found.add(text);
  maskText(text, found);
  if (text.length <= longestPart && /^\s*[[{]/.test(text)) addJson(text, maskText, found);
}

/** Adds the parts of every secret in `found` that are also secrets. */
export function addParts(found: Set<string>): void {
  // Parts are added during this loop and are examined too: each is shorter than its whole.
  for (const secret of found) if (secret.length <= longestPart) addPartsOf(secret, found);
}

function addPartsOf(text: string, found: Set<string>): void {
  const trimmed = text.trim();
  if (trimmed !== text) found.add(trimmed);
  const credentials = scheme.exec(text)?.[1]?.trim();
  if (credentials !== undefined) {
    found.add(credentials);
    addBasic(credentials, found);
  } else addBasic(text, found);
  for (const [, value = ''] of text.matchAll(cookie))
    if (value.trim().length >= shortestPart) found.add(value.trim());
}

/** Basic credentials reveal the password to everyone who can decode base64. */
function addBasic(credentials: string, found: Set<string>): void {
  if (!/^[A-Za-z0-9+/_-]{4,}={0,2}$/.test(credentials)) return;
  const pair = Buffer.from(credentials, 'base64').toString();
  const colon = pair.indexOf(':');
  if (colon === -1 || pair.includes('\uFFFD')) return;
  found.add(pair);
  found.add(pair.slice(colon + 1));
}

function addJson(text: string, maskText: TextMask, found: Set<string>): void {
  const value = readInnerJson(text);
  if (typeof value === 'object' && typeof value.json === 'object')
    collectSecretLeaves(value.json, maskText, found);
}

/** Undefined if the text is not JSON. `too deep`: code that walks the value could overflow the stack. */
export function readInnerJson(text: string): { readonly json: JsonValue } | 'too deep' | undefined {
  if (findNesting(text, deepest) !== undefined) return isJson(text) ? 'too deep' : undefined;
  try {
    return { json: readJsonText(text) };
  } catch {
    return undefined;
  }
}

/** `JSON.parse` itself does not recurse. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
