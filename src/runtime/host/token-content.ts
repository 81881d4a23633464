/**
 * Tokens and browser logins as one text, wherever it is stored.
 *
 * 1. A token is 256 random bits. The text holds its SHA-256, so a reader of the text cannot log in.
 * 2. Functions that change the content return a new one. Undefined means that nothing changes.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { QuittanceError } from '../../base/error.ts';
import type { Awaitable, JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject, readJsonText } from '../../base/json.ts';
import { isSameName } from '../../call/same-identity.ts';
import type { Role } from './rights.ts';
import { isRole } from './rights.ts';
import type { ContentFormat } from './stored-content.ts';
import type { TokenPrincipals } from './token-principals.ts';
import { readTokenPrincipals } from './token-principals.ts';
import { nameSeparator } from './name-separator.ts';

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
