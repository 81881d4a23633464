/**
 * Walks a payload and hides its secrets: by the form of values and, in inputs, by their names. A name is a key, but
 * also a neighbour in a row, a pair, a list of arguments or a JSON text.
 */
import { isProgram, secretsInArguments } from './command-secrets.ts';
import type { JsonObject, JsonValue } from './json.ts';
import { defineMember, formatPath } from './json.ts';
import { createKeyPicker } from './key-picker.ts';
import type { KeyRole } from './key-role.ts';
import type { KeyReading } from './key-reader.ts';
import { readInnerJson } from './inner-json.ts';
import { findSplitKeys, isWebKeyPart } from './private-keys.ts';
import { collectSecretLeaves } from './secret-leaves.ts';
import { cutOut, redacted } from './text-mask.ts';
import type { FoundSecrets, SecretWalk } from './secret-walk.ts';
import { isNameOf, announces, type Row, noRow, readSecretRow, isSetting } from './secret-row.ts';

/** No pattern matches a number with fewer digits. */
const leastSecretNumber = 1e12;

/** Nested JSON texts are read up to this depth. Each level doubles the backslashes. */
const deepestText = 6;

/** The value without its secrets; the value itself if it has none. */
export function hideSecrets(value: JsonValue, walk: SecretWalk): JsonValue {
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
    const reading = rules.readKey(key);
    const keptKey = reading.shown === key ? key : (pickKey ??= createKeyPicker(members))(key, reading.shown);
    trail.push(keptKey);
    if (keptKey !== key) {
      rules.maskText(key, walk.found.secrets);
      note(walk, keptKey, key);
    }
    const kept =
      hideKeyPart(walk, members, key, member) ??
      (isWebKeyPart(members, key) ? hideAll(walk, member) : visitMember(walk, member, key, reading, row));
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

function visitMember(
  walk: SecretWalk,
  member: JsonValue,
  key: string,
  reading: KeyReading,
  row: Row,
): JsonValue {
  const { role } = reading;
  if (!walk.rules.byName) return visit(walk, member, 'other');
  if (reading.announcesSecret && !isSetting(key, member)) return hideAll(walk, member);
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
