/**
 * Sign-ins as one text, wherever it is stored.
 *
 * 1. The text has hashes of the secrets that browsers and command lines hold, and sealed tokens of the provider. A
 *    reader of the text can sign in neither here nor there.
 * 2. A record that cannot be read is dropped: that person signs in again.
 */
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject, readJsonText } from '../../base/json.ts';
import type { ContentFormat } from './stored-content.ts';
import type { Role } from './rights.ts';
import { isRole } from './rights.ts';

/** A person as the identity provider describes them. */
export type Person = {
  readonly issuer: string;
  readonly subject: string;
  /** For display only. */
  readonly name: string;
  /** E-mail address and user name, to recognise the requester of a call. They give no right. */
  readonly aliases: readonly string[];
  readonly groups: readonly string[];
};

/** A stored sign-in. */
export type KeptSignIn = {
  readonly signInId: string;
  readonly kind: SignInKind;
  readonly person: Person;
  /** The id of the session at the provider. */
  readonly providerSession: string | undefined;
  /** Hash of the secret in the cookie or in the credentials file. */
  readonly hash: string;
  /** Hash of the page key. Command lines have none. */
  readonly keyHash: string | undefined;
  /** Secrets that were replaced, newest first. */
  readonly replaced: readonly ReplacedSecret[];
  /** Tokens of the provider, sealed. */
  readonly sealed: string;
  readonly hasRefreshToken: boolean;
  readonly createdAt: number;
  readonly seenAt: number;
  /** When the provider last confirmed the person. */
  readonly verifiedAt: number;
  /** When a server last began to ask the provider, if it has not finished. */
  readonly renewingAt: number | undefined;
};
export type SignInKind = 'browser' | 'command line';

/** `retiredAt`: when its successor was first used. Until then the browser may not have the successor. */
export type ReplacedSecret = { readonly hash: string; readonly retiredAt: number | undefined };

/** A person whom the provider confirmed. It outlives sign-ins, because decision links depend on it. */
export type KnownPerson = {
  readonly person: Person;
  readonly verifiedAt: number;
  /** The role that the server gave them then. Undefined: none, or written by an older version. */
  readonly role?: Role;
};

/** A command line that waits for a person to sign in. */
export type DeviceRequest = {
  /** Hash of the secret that the command line holds. */
  readonly hash: string;
  /** What the person compares, e.g. `BCDF-GHJK`. */
  readonly userCode: string;
  /** Name of the machine, as the command line states it. */
  readonly from: string;
  readonly expiresAt: number;
  readonly polledAt: number | undefined;
  readonly signedIn: DeviceSignIn | undefined;
  readonly status: 'waiting' | 'allowed' | 'denied';
};

/** The person who signed in for a command line that has not fetched the sign-in yet. */
export type DeviceSignIn = {
  /** The person and their tokens. */
  readonly sealed: string;
  /** Hash of the secret that the page holds. */
  readonly confirmHash: string;
  readonly person: Pick<Person, 'issuer' | 'subject'>;
  readonly providerSession: string | undefined;
  readonly verifiedAt: number;
};

export type SignInContent = {
  readonly signIns: readonly KeptSignIn[];
  readonly people: readonly KnownPerson[];
  readonly devices: readonly DeviceRequest[];
  /** Hashes of logout tokens that were used. */
  readonly usedTokens: readonly { readonly hash: string; readonly expiresAt: number }[];
};

export const signInFormat: ContentFormat<SignInContent> = {
  name: 'sign-in',
  empty: { signIns: [], people: [], devices: [], usedTokens: [] },
  parse: parseSignIns,
  write: (content) => `${JSON.stringify({ version: 1, ...content })}\n`,
};

function parseSignIns(text: () => string, place: string): SignInContent {
  let value: JsonValue;
  try {
    value = readJsonText(text());
  } catch (cause) {
    throw broken(place, cause);
  }
  if (!isJsonObject(value) || value['version'] !== 1) throw broken(place);
  return {
    signIns: rows(value, 'signIns', toSignIn),
    people: rows(value, 'people', toKnownPerson),
    devices: rows(value, 'devices', toDevice),
    usedTokens: rows(value, 'usedTokens', ({ hash, expiresAt }) =>
      isText(hash) && isTime(expiresAt) ? { hash, expiresAt } : undefined,
    ),
  };
}

function rows<Row>(
  value: JsonObject,
  name: string,
  read: (row: JsonObject) => Row | undefined,
): readonly Row[] {
  const found = value[name];
  if (!Array.isArray(found)) return [];
  return (found as readonly JsonValue[]).flatMap((row) => (isJsonObject(row) ? (read(row) ?? []) : []));
}

const isText = (value: JsonValue | undefined): value is string => typeof value === 'string' && value !== '';
const isTime = (value: JsonValue | undefined): value is number =>
  typeof value === 'number' && Number.isFinite(value);
const timeOf = (value: JsonValue | undefined): number | undefined => (isTime(value) ? value : undefined);

/** Older versions wrote no aliases. */
const textsIn = (value: JsonValue | undefined): readonly string[] =>
  Array.isArray(value) ? (value as readonly JsonValue[]).filter(isText) : [];

function toPerson(value: JsonValue | undefined): Person | undefined {
  if (!isJsonObject(value)) return undefined;
  const { issuer, subject, name, aliases, groups } = value;
  if (!isText(issuer) || !isText(subject) || !isText(name) || !Array.isArray(groups)) return undefined;
  return { issuer, subject, name, aliases: textsIn(aliases), groups: textsIn(groups) };
}

function toSignIn(row: JsonObject): KeptSignIn | undefined {
  const { signInId, kind, hash, sealed, createdAt, seenAt, verifiedAt, keyHash, hasRefreshToken } = row;
  const person = toPerson(row['person']);
  if (kind !== 'browser' && kind !== 'command line') return undefined;
  if (person === undefined || !isText(signInId) || !isText(hash) || !isText(sealed)) return undefined;
  if (!isTime(createdAt) || !isTime(seenAt) || !isTime(verifiedAt)) return undefined;
  // A cookie without a page key would be enough for a server on another port.
  if (kind === 'browser' && !isText(keyHash)) return undefined;
  return {
    signInId,
    kind,
    person,
    providerSession: isText(row['providerSession']) ? row['providerSession'] : undefined,
    hash,
    keyHash: isText(keyHash) ? keyHash : undefined,
    replaced: rows(row, 'replaced', ({ hash: old, retiredAt }) =>
      isText(old) ? { hash: old, retiredAt: timeOf(retiredAt) } : undefined,
    ),
    sealed,
    hasRefreshToken: hasRefreshToken === true,
    createdAt,
    seenAt,
    verifiedAt,
    renewingAt: timeOf(row['renewingAt']),
  };
}

function toKnownPerson({ person: given, verifiedAt, role }: JsonObject): KnownPerson | undefined {
  const person = toPerson(given);
  if (person === undefined || !isTime(verifiedAt)) return undefined;
  return { person, verifiedAt, ...(isRole(role) && { role }) };
}

function toDevice(row: JsonObject): DeviceRequest | undefined {
  const { hash, userCode, from, expiresAt, polledAt, signedIn, status } = row;
  if (!isText(hash) || !isText(userCode) || typeof from !== 'string' || !isTime(expiresAt)) return undefined;
  if (status !== 'waiting' && status !== 'allowed' && status !== 'denied') return undefined;
  return {
    hash,
    userCode,
    from,
    expiresAt,
    polledAt: timeOf(polledAt),
    signedIn: toDeviceSignIn(signedIn),
    status,
  };
}

function toDeviceSignIn(value: JsonValue | undefined): DeviceSignIn | undefined {
  if (!isJsonObject(value)) return undefined;
  const { sealed, confirmHash, person, providerSession, verifiedAt } = value;
  const { issuer, subject } = isJsonObject(person) ? person : {};
  if (!isText(sealed) || !isText(confirmHash) || !isTime(verifiedAt)) return undefined;
  if (!isText(issuer) || !isText(subject)) return undefined;
  const session = isText(providerSession) ? providerSession : undefined;
  return { sealed, confirmHash, person: { issuer, subject }, providerSession: session, verifiedAt };
}

const broken = (place: string, cause?: unknown): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `${place} does not hold sign-ins as this version writes them. Remove it: everyone then signs in again.`,
    {},
    cause,
  );
