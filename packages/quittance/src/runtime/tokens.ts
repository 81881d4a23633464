/**
 * Tokens and browser logins, sign-ins, and the shared content that stores them: one text each, in any store.
 *
 * 1. A token is 256 random bits. The text holds its SHA-256, so a reader of the text cannot log in.
 * 2. Functions that change the content return a new one, or undefined if nothing changes.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { QuittanceError } from '../base/error.ts';
import type { Awaitable, JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, readJsonText } from '../base/json.ts';
import { isSameName } from '../call/same-identity.ts';
import type { TokenIdentity } from '../call/event.ts';
import type { Role } from '../call/role.ts';
import { isRole } from '../call/role.ts';
import { nameSeparator } from '../call/limits.ts';
import { canonicalJson } from '../base/canonical.ts';
import type { Principal } from '../tool/tool-context.ts';

/** The record of a token. */
export type TokenRecord = {
  readonly tokenId: string;
  /** The name stored with every decision made with it. */
  readonly name: string;
  readonly role: Role;
  readonly createdAt: number;
  /** Undefined: never. */
  readonly expiresAt: number | undefined;
  /** The owner, for people with several tokens. Undefined: the name is the owner. */
  readonly person: string | undefined;
  /** Groups of the owner, for rules about approvers. */
  readonly groups: readonly string[] | undefined;
  /** The principals it may request calls for. Undefined: any. */
  readonly principals: TokenPrincipals | undefined;
};

/** The identity of a person who is known by a stored token. */
export const tokenIdentity = ({ tokenId, name, person, groups, role }: TokenRecord): TokenIdentity => ({
  kind: 'token',
  id: tokenId,
  name,
  via: 'bearer',
  ...(person !== undefined && { person }),
  ...(groups !== undefined && { groups }),
  roles: [role],
});

type Kept = TokenRecord & { readonly hash: string };
/** A browser login: a cookie, and a key that only the pages of this origin have. */
type Login = {
  readonly hash: string;
  readonly keyHash: string;
  readonly tokenId: string;
  readonly expiresAt: number;
};
export type TokenContent = { readonly tokens: readonly Kept[]; readonly logins: readonly Login[] };

export type NewToken = {
  readonly name: string;
  readonly role: Role;
  /** Time until it expires. Undefined: never. */
  readonly expiresInMs?: number | undefined;
  readonly person?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly principals?: TokenPrincipals | undefined;
};

export type NewLogin = {
  /** In the cookie. */
  readonly secret: string;
  /** Stored by the pages of the origin that logged in. */
  readonly pageKey: string;
  readonly expiresAt: number;
};

/** A token with its secret, which is shown once. */
export type MadeToken = { readonly token: string; readonly record: TokenRecord };
/** The token of a browser login. `tokenId` may be of a token without a record. */
export type FoundLogin = {
  readonly tokenId: string;
  readonly record: TokenRecord | undefined;
  readonly expiresAt: number;
};

/** The tokens of a server. A stored change is seen by every process after its next `refresh`. */
export interface Tokens {
  /** Throws if other users of the machine could change the tokens. */
  check(): void;
  /** Reads the current state. Each request does this first, so a revoked token stops working at once. */
  refresh(): Awaitable<void>;
  /** Changes whenever a token or login changes. */
  readonly revision: string;
  create(given: NewToken): Awaitable<MadeToken>;
  list(): readonly TokenRecord[];
  /** Revokes a token by id or name, and its browser logins. Undefined if there is no such token. */
  revoke(which: string): Awaitable<TokenRecord | undefined>;
  findToken(secret: string): TokenRecord | undefined;
  /** Logs a browser in with a token. Returns the secret of its cookie and the key of its pages. */
  openLogin(tokenId: string, lastsMs: number): Awaitable<NewLogin>;
  /** The token of a browser login. Needs both secrets. */
  findLogin(secret: string, pageKey: string): FoundLogin | undefined;
  closeLogin(secret: string): Awaitable<void>;
}

/** Begins every token, so that it is recognized where it leaked. */
export const tokenPrefix = 'qt_';
/** Of one token. */
const mostLogins = 20;

export const newSecret = (): string => tokenPrefix + randomBytes(32).toString('base64url');
export const hashSecret = (secret: string): string =>
  createHash('sha256').update(secret, 'utf8').digest('hex');

/** Compares in constant time. */
export function isSecretOf(hash: string, secret: string): boolean {
  const [stored, given] = [Buffer.from(hash, 'hex'), Buffer.from(hashSecret(secret), 'hex')];
  return stored.length === given.length && timingSafeEqual(stored, given);
}

type ChangeTokens = (content: TokenContent) => TokenContent | undefined;

/** A new token and the change that stores it. The change throws if the name is taken. */
export function makeToken(given: NewToken, createdAt: number): MadeToken & { readonly change: ChangeTokens } {
  const { name, role, expiresInMs, person, groups, principals } = given;
  for (const group of groups ?? []) checkTokenName(group);
  for (const each of person === undefined ? [name] : [name, person]) checkTokenName(each);
  if (principals !== undefined && readTokenPrincipals(principals) === undefined)
    throw new QuittanceError(
      'config.invalid',
      'The principals of a token are lists of values by field, e.g. {"userId":["bob"],"orgId":["acme"],"claims":{"team":["ops"]}}. "*" matches any value.',
    );
  const token = newSecret();
  const expiresAt = expiresInMs === undefined ? undefined : createdAt + expiresInMs;
  const tokenId = randomBytes(6).toString('hex');
  const record: TokenRecord = { tokenId, name, role, createdAt, expiresAt, person, groups, principals };
  return {
    token,
    record,
    change({ tokens, logins }) {
      const other = tokens.find((each) => isSameName(each.name, name));
      if (other !== undefined)
        throw new QuittanceError(
          'config.invalid',
          other.name === name
            ? `There is a token named ${JSON.stringify(name)} already. Revoke it first, or choose another name: a decision must say whose it was.`
            : `${JSON.stringify(name)} looks like the name of another token, ${JSON.stringify(other.name)}. Choose a name that cannot be mistaken for it.`,
        );
      return { tokens: [...tokens, { ...record, hash: hashSecret(token) }], logins };
    },
  };
}

export const listTokens = ({ tokens }: TokenContent): readonly TokenRecord[] => tokens.map(toRecord);

/** The token with this id or name. */
export function findNamed({ tokens }: TokenContent, which: string): TokenRecord | undefined {
  const found = tokens.find(({ tokenId, name }) => tokenId === which || name === which);
  return found && toRecord(found);
}

export const removeToken = (
  { tokens, logins }: TokenContent,
  { tokenId: gone }: TokenRecord,
): TokenContent => ({
  tokens: tokens.filter(({ tokenId }) => tokenId !== gone),
  logins: logins.filter(({ tokenId }) => tokenId !== gone),
});

export function findToken({ tokens }: TokenContent, secret: string, now: number): TokenRecord | undefined {
  const found = findByHash(tokens, secret);
  return found !== undefined && isInTime(found.expiresAt, now) ? found : undefined;
}

/** A new login and the change that stores it. */
export function makeLogin(
  tokenId: string,
  lastsMs: number,
  now: number,
): { readonly login: NewLogin; readonly change: ChangeTokens } {
  const [secret, pageKey] = [newSecret(), newSecret()];
  const expiresAt = now + lastsMs;
  return {
    login: { secret, pageKey, expiresAt },
    change({ tokens, logins }) {
      // Repeated logins replace the oldest logins of the same token only.
      const crowded = new Set(logins.filter((login) => login.tokenId === tokenId).slice(0, 1 - mostLogins));
      return {
        tokens,
        logins: [
          ...logins.filter((login) => login.expiresAt > now && !crowded.has(login)),
          { hash: hashSecret(secret), keyHash: hashSecret(pageKey), tokenId, expiresAt },
        ],
      };
    },
  };
}

export function findLogin(
  { tokens, logins }: TokenContent,
  secret: string,
  pageKey: string,
  now: number,
): FoundLogin | undefined {
  const login = findByHash(logins, secret);
  if (login === undefined || login.expiresAt <= now) return undefined;
  if (findByHash([{ hash: login.keyHash }], pageKey) === undefined) return undefined;
  const record = tokens.find(({ tokenId }) => tokenId === login.tokenId);
  if (record !== undefined && !isInTime(record.expiresAt, now)) return undefined;
  return { tokenId: login.tokenId, record, expiresAt: login.expiresAt };
}

export function removeLogin({ tokens, logins }: TokenContent, secret: string): TokenContent {
  const hash = hashSecret(secret);
  return { tokens, logins: logins.filter((login) => login.hash !== hash) };
}

const writeTokens = (content: TokenContent): string =>
  `${JSON.stringify({ version: 1, ...content }, undefined, 1)}\n`;

export const tokenFormat: ContentFormat<TokenContent> = {
  name: 'token',
  empty: { tokens: [], logins: [] },
  parse: parseTokens,
  write: writeTokens,
};

const longestName = 200;

/** Checks a name for use on a decision, before a worker's name, and in a terminal. */
export function checkTokenName(name: string): void {
  if (name.trim() === '' || name.length > longestName || /[\p{Cc}\p{Cs}]/u.test(name))
    throw new QuittanceError(
      'config.invalid',
      `A token needs a name of 1 to ${longestName} characters, without control characters: it is recorded with every decision made with the token.`,
    );
  if (name.includes(nameSeparator))
    throw new QuittanceError(
      'config.invalid',
      `The name of a token may not hold "${nameSeparator}", which joins it to the name of a worker. Found ${JSON.stringify(name)}.`,
    );
}

const toRecord = ({
  tokenId,
  name,
  role,
  createdAt,
  expiresAt,
  person,
  groups,
  principals,
}: Kept): TokenRecord => ({
  tokenId,
  name,
  role,
  createdAt,
  expiresAt,
  person,
  groups,
  principals,
});

const isInTime = (expiresAt: number | undefined, now: number): boolean =>
  expiresAt === undefined || now < expiresAt;

/** Compares with every record, even after a match, so that timing reveals nothing. */
function findByHash<Item extends { readonly hash: string }>(
  items: readonly Item[],
  secret: string,
): Item | undefined {
  const wanted = Buffer.from(hashSecret(secret), 'hex');
  let found: Item | undefined;
  for (const item of items) {
    const hash = Buffer.from(item.hash, 'hex');
    if (hash.length === wanted.length && timingSafeEqual(hash, wanted)) found = item;
  }
  return found;
}

/** `place` names the text in the error, e.g. by its path. */
function parseTokens(text: () => string, place: string): TokenContent {
  let value: JsonValue;
  try {
    value = readJsonText(text());
  } catch (cause) {
    throw broken(place, cause);
  }
  if (!isJsonObject(value) || value['version'] !== 1) throw broken(place);
  const { tokens, logins } = value;
  if (!Array.isArray(tokens) || !Array.isArray(logins)) throw broken(place);
  return {
    tokens: (tokens as readonly JsonValue[]).map((each) => {
      if (!isJsonObject(each)) throw broken(place);
      const { tokenId, name, role, createdAt, expiresAt, hash, person, groups } = each;
      const principals =
        each['principals'] === undefined ? undefined : readTokenPrincipals(each['principals']);
      // An unreadable limit must not count as no limit.
      if (each['principals'] !== undefined && principals === undefined) throw broken(place);
      if (
        typeof tokenId !== 'string' ||
        typeof name !== 'string' ||
        !isRole(role) ||
        typeof hash !== 'string' ||
        (person !== undefined && typeof person !== 'string') ||
        !isGroups(groups)
      )
        throw broken(place);
      return {
        tokenId,
        name,
        role,
        hash,
        createdAt: Number(createdAt),
        expiresAt: timeOf(each, expiresAt),
        person,
        groups,
        principals,
      };
    }),
    logins: (logins as readonly JsonValue[]).flatMap((each) => {
      if (!isJsonObject(each)) throw broken(place);
      const { hash, keyHash, tokenId, expiresAt } = each;
      // An older version wrote no page key hash: that browser must log in again.
      return typeof hash === 'string' &&
        typeof keyHash === 'string' &&
        typeof tokenId === 'string' &&
        typeof expiresAt === 'number'
        ? [{ hash, keyHash, tokenId, expiresAt }]
        : [];
    }),
  };
}

const isGroups = (value: JsonValue | undefined): value is readonly string[] | undefined =>
  value === undefined || (Array.isArray(value) && value.every((each) => typeof each === 'string'));

/** An unreadable time counts as expired. */
const timeOf = (record: JsonObject, expiresAt: JsonValue | undefined): number | undefined =>
  Object.hasOwn(record, 'expiresAt') ? (typeof expiresAt === 'number' ? expiresAt : 0) : undefined;

const broken = (place: string, cause?: unknown): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `${place} does not contain tokens in the format of this version. Restore it, or remove it and create the tokens again with: quittance tokens create`,
    {},
    cause,
  );

/**
 * The principals that a token may name: the values that each field may have. `*` stands for any value. A field that is not
 * listed may not be given. A token without such a list may name any principal.
 */
export type TokenPrincipals = {
  readonly [Name in Exclude<keyof Principal, 'claims'>]?: readonly string[];
} & { readonly claims?: Readonly<Record<string, readonly JsonValue[]>> };

const textFields = ['userId', 'serviceId', 'orgId', 'role', 'ticketRef'] as const;
const any = '*';

/** Reads the list. Undefined if it is not valid: an unknown form may be a limit. */
export function readTokenPrincipals(value: unknown): TokenPrincipals | undefined {
  if (!isJsonObject(value) || Object.keys(value).length === 0) return undefined;
  for (const [name, listed] of Object.entries(value)) {
    if (name === 'claims') {
      if (!isJsonObject(listed) || !Object.values(listed).every((each) => Array.isArray(each)))
        return undefined;
    } else if (
      !textFields.some((field) => field === name) ||
      !Array.isArray(listed) ||
      !listed.every((each) => typeof each === 'string')
    )
      return undefined;
  }
  // All fields were checked above.
  return value as unknown as TokenPrincipals;
}

/** The reason why a token with these principals may not name this one. Undefined if it may. */
export function whyNotPrincipal(
  listed: TokenPrincipals | undefined,
  principal: Principal | undefined,
): string | undefined {
  if (listed === undefined) return undefined;
  const problem = findProblem(listed, principal);
  return problem && `${problem}. It lists ${describe(listed)}`;
}

function findProblem(listed: TokenPrincipals, principal: Principal | undefined): string | undefined {
  const given = Object.entries((principal ?? {}) as JsonObject).filter(([, value]) => value !== undefined);
  if (given.length === 0) return 'the call names no principal';
  for (const [name, value] of given) {
    if (name === 'claims') {
      if (!isJsonObject(value)) return 'claims is not an object';
      for (const [claim, claimed] of Object.entries(value)) {
        const known = listed.claims && Object.hasOwn(listed.claims, claim) ? listed.claims[claim] : undefined;
        if (!isListed(known, claimed))
          return `the claim ${JSON.stringify(claim)} has a value that is not listed`;
      }
    } else {
      const field = textFields.find((each) => each === name);
      const known = field === undefined ? undefined : listed[field];
      if (!isListed(known, value)) return `${name} ${JSON.stringify(value)?.slice(0, 100)} is not listed`;
    }
  }
  return undefined;
}

/** A list is allowed if each of its values is. */
function isListed(known: readonly JsonValue[] | undefined, value: JsonValue | undefined): boolean {
  if (known === undefined || value === undefined) return false;
  if (known.includes(any)) return true;
  const isKnown = (one: JsonValue): boolean =>
    known.some((each) => canonicalJson(each) === canonicalJson(one));
  return (
    isKnown(value) || (Array.isArray(value) && value.length > 0 && (value as JsonValue[]).every(isKnown))
  );
}

const describe = (listed: TokenPrincipals): string => JSON.stringify(listed).slice(0, 500);

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
  /** Time at which a server last began to ask the provider, if it has not finished. */
  readonly renewingAt: number | undefined;
};
export type SignInKind = 'browser' | 'command line';

/** `retiredAt`: when its successor was first used. Until then the browser may not have the successor. */
export type ReplacedSecret = { readonly hash: string; readonly retiredAt: number | undefined };

/** A person whom the provider confirmed. It outlives sign-ins, because decision links depend on it. */
type KnownPerson = {
  readonly person: Person;
  readonly verifiedAt: number;
  /** The role that the server gave them then. Undefined: none, or written by an older version. */
  readonly role?: Role;
};

/** A command line that waits for a person to sign in. */
export type DeviceRequest = {
  /** Hash of the secret that the command line holds. */
  readonly hash: string;
  /** The code that the person compares, e.g. `BCDF-GHJK`. */
  readonly userCode: string;
  /** Name of the machine, as the command line states it. */
  readonly from: string;
  readonly expiresAt: number;
  readonly polledAt: number | undefined;
  readonly signedIn: DeviceSignIn | undefined;
  readonly status: 'waiting' | 'allowed' | 'denied';
};

/** The person who signed in for a command line that has not fetched the sign-in yet. */
type DeviceSignIn = {
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
    throw brokenSignIns(place, cause);
  }
  if (!isJsonObject(value) || value['version'] !== 1) throw brokenSignIns(place);
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
const timeIn = (value: JsonValue | undefined): number | undefined => (isTime(value) ? value : undefined);

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
      isText(old) ? { hash: old, retiredAt: timeIn(retiredAt) } : undefined,
    ),
    sealed,
    hasRefreshToken: hasRefreshToken === true,
    createdAt,
    seenAt,
    verifiedAt,
    renewingAt: timeIn(row['renewingAt']),
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
    polledAt: timeIn(polledAt),
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

const brokenSignIns = (place: string, cause?: unknown): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `${place} does not hold sign-ins as this version writes them. Remove it: everyone then signs in again.`,
    {},
    cause,
  );

/**
 * Content shared by the servers of a ledger: tokens or sign-ins. It is in a file next to the ledger, in its database, or in
 * this process.
 *
 * 1. A change is atomic: no process loses the change of another.
 * 2. A stored change is seen by every process after its next `refresh`.
 */
export interface StoredContent<Content> {
  /** Throws if other users of the machine could change the content. */
  check(): void;
  /** Reads the current state. */
  refresh(): Awaitable<void>;
  /** Changes whenever the content changes. */
  readonly revision: string;
  /** The content at the last refresh. Throws if it could not be read. */
  read(): Content;
  /** The function may be called more than once. Undefined means that nothing changes. */
  change(change: (content: Content) => Content | undefined): Awaitable<void>;
}

/** The text form of a content. */
export type ContentFormat<Content> = {
  /** Names the content in errors, e.g. `tokens`. */
  readonly name: string;
  readonly empty: Content;
  /** `place` names the text in the error. */
  readonly parse: (text: () => string, place: string) => Content;
  readonly write: (content: Content) => string;
};
