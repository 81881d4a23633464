import type { JsonObject, JsonValue } from './json.ts';
import { defineMember, formatPath } from './json.ts';
import type { KeyReading } from './redaction-key.ts';
import { redacted } from './secret-mask.ts';

/** What is hidden, decided one text and one key at a time. */
export interface SecretRules {
  readonly maskText: (text: string) => string;
  readonly readKey: (key: string) => KeyReading;
  /** Whether the name of a member can give its value away. */
  readonly byName: boolean;
}

/** A number with fewer digits is nothing that any pattern looks for. */
const leastSecretNumber = 1e12;

/** Whether anything in a value has to be hidden. Runs over every payload, so it makes nothing on its way. */
export function hasSecret(value: JsonValue, rules: SecretRules): boolean {
  if (typeof value === 'string') return rules.maskText(value) !== value;
  if (typeof value === 'number') return maskNumber(value, rules) !== value;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[]) if (hasSecret(item, rules)) return true;
    return false;
  }
  const members = value as JsonObject;
  for (const key in members) {
    if (!Object.hasOwn(members, key)) continue;
    const member = members[key] as JsonValue;
    const reading = rules.readKey(key);
    if (reading.shown !== key || isNamedSecret(member, reading, rules) || hasSecret(member, rules))
      return true;
  }
  return false;
}

/** Copies a value without what has to be hidden, and notes in `hidden` where that was. */
export function hideSecrets(value: JsonValue, rules: SecretRules, hidden: string[]): JsonValue {
  const trail: (string | number)[] = [];

  const note = (kept: JsonValue, before: JsonValue): JsonValue => {
    if (kept !== before) hidden.push(formatPath(trail));
    return kept;
  };

  const visit = (at: JsonValue): JsonValue => {
    if (typeof at === 'string') return note(rules.maskText(at), at);
    if (typeof at === 'number') return note(maskNumber(at, rules), at);
    if (typeof at !== 'object' || at === null) return at;
    return Array.isArray(at) ? visitItems(at as readonly JsonValue[]) : visitMembers(at as JsonObject);
  };

  const visitItems = (items: readonly JsonValue[]): JsonValue =>
    items.map((item, index) => {
      trail.push(index);
      const kept = visit(item);
      trail.pop();
      return kept;
    });

  const visitMembers = (members: JsonObject): JsonValue => {
    const copy: { [key: string]: JsonValue } = {};
    const pickKey = createKeyPicker(members);
    for (const [key, member] of Object.entries(members)) {
      const reading = rules.readKey(key);
      const keptKey = pickKey(key, reading.shown);
      trail.push(keptKey);
      note(keptKey, key);
      const kept = isNamedSecret(member, reading, rules) ? note(redacted, member) : visit(member);
      defineMember(copy, keptKey, kept);
      trail.pop();
    }
    return copy;
  };

  return visit(value);
}

/** Nothing is hidden where nothing is: models fill optional fields with null. */
const isNamedSecret = (member: JsonValue, reading: KeyReading, rules: SecretRules): boolean =>
  rules.byName && reading.announcesSecret && member !== null && member !== '' && member !== redacted;

function maskNumber(value: number, rules: SecretRules): JsonValue {
  if (Math.abs(value) < leastSecretNumber) return value;
  const text = String(value);
  const masked = rules.maskText(text);
  return masked === text ? value : masked;
}

/** Gives masked keys that have become the same a number each, so that no member is lost. */
function createKeyPicker(members: JsonObject): (key: string, shown: string) => string {
  const counts = new Map<string, number>();
  const taken = new Set<string>();
  return (key, shown) => {
    if (shown === key) return key;
    let picked = shown;
    let count = counts.get(shown) ?? 1;
    while (taken.has(picked) || Object.hasOwn(members, picked)) picked = `${shown} ${++count}`;
    counts.set(shown, count);
    taken.add(picked);
    return picked;
  };
}
