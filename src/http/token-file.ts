/**
 * The token file: a small file next to the ledger that only its owner can read.
 *
 * 1. A token is 256 random bits. The file stores its SHA-256, so a reader of the file cannot log in.
 * 2. The file is replaced in one step, so a reader sees all of a change or none of it.
 * 3. Every request is checked against the current file, so a revoked token stops working at once.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { QuittanceError } from '../base/error.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, readJsonText } from '../base/json.ts';
import { isSameName } from '../call/same-identity.ts';
import { checkPrivateFile } from '../runtime/files/private-file.ts';
import { isRole } from './actor.ts';
import type { Role } from './api/role.ts';
import type { TokenPrincipals } from './token-principals.ts';
import { readTokenPrincipals } from './token-principals.ts';
import { nameSeparator } from './worker-name.ts';

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
type Content = { readonly tokens: readonly Kept[]; readonly logins: readonly Login[] };

export type NewToken = {
  readonly name: string;
  readonly role: Role;
  /** Time until it expires. Undefined: never. */
  readonly expiresInMs?: number | undefined;
  readonly person?: string | undefined;
  readonly principals?: TokenPrincipals | undefined;
};

export type NewLogin = {
  /** In the cookie. */
  readonly secret: string;
  /** Stored by the pages of the origin that logged in. */
  readonly pageKey: string;
  readonly expiresAt: number;
};

const prefix = 'qt_';
/** Of one token. */
const mostLogins = 20;

export const tokenFilePath = (ledgerPath: string): string => `${ledgerPath}.tokens`;

export const newSecret = (): string => prefix + randomBytes(32).toString('base64url');
export const hashSecret = (secret: string): string =>
  createHash('sha256').update(secret, 'utf8').digest('hex');

export class TokenFile {
  readonly #path: string | undefined;
  readonly #now: () => number;
  #content: Content = { tokens: [], logins: [] };
  /** The state of the file at the last read. */
  #stamp: string | undefined;
  #changes = 0;

  /** Without a path nothing is stored, and tokens end with the process. */
  constructor(path: string | undefined, now: () => number) {
    this.#path = path;
    this.#now = now;
  }

  /** Throws if other users of the machine could change or read the file. */
  check(): void {
    if (this.#path !== undefined) checkPrivateFile({ path: this.#path, what: 'token file', secret: false });
  }

  create(given: NewToken): { readonly token: string; readonly record: TokenRecord } {
    const { name, role, expiresInMs, person, principals } = given;
    for (const each of person === undefined ? [name] : [name, person]) checkTokenName(each);
    if (principals !== undefined && readTokenPrincipals(principals) === undefined)
      throw new QuittanceError(
        'config.invalid',
        'The principals of a token are lists of values by field, e.g. {"userId":["bob"],"orgId":["acme"],"claims":{"team":["ops"]}}. "*" stands for any value.',
      );
    const token = newSecret();
    const createdAt = this.#now();
    const expiresAt = expiresInMs === undefined ? undefined : createdAt + expiresInMs;
    const tokenId = randomBytes(6).toString('hex');
    const record: TokenRecord = { tokenId, name, role, createdAt, expiresAt, person, principals };
    this.#change(({ tokens, logins }) => {
      const other = tokens.find((each) => isSameName(each.name, name));
      if (other !== undefined)
        throw new QuittanceError(
          'config.invalid',
          other.name === name
            ? `There is a token named ${JSON.stringify(name)} already. Revoke it first, or choose another name: a decision must say whose it was.`
            : `${JSON.stringify(name)} looks like the name of another token, ${JSON.stringify(other.name)}. Choose a name that cannot be mistaken for it.`,
        );
      return { tokens: [...tokens, { ...record, hash: hashSecret(token) }], logins };
    });
    return { token, record };
  }

  list(): readonly TokenRecord[] {
    return this.#read().tokens.map(toRecord);
  }

  /** Revokes a token by id or name, and its browser logins. Undefined if there is no such token. */
  revoke(which: string): TokenRecord | undefined {
    let revoked: TokenRecord | undefined;
    this.#change(({ tokens, logins }) => {
      const found = tokens.find(({ tokenId, name }) => tokenId === which || name === which);
      if (found === undefined) return undefined;
      revoked = toRecord(found);
      return {
        tokens: tokens.filter((each) => each !== found),
        logins: logins.filter(({ tokenId }) => tokenId !== found.tokenId),
      };
    });
    return revoked;
  }

  findToken(secret: string): TokenRecord | undefined {
    const found = findByHash(this.#read().tokens, secret);
    return found !== undefined && isInTime(found.expiresAt, this.#now()) ? found : undefined;
  }

  /** Logs a browser in with a token. Returns the secret of its cookie and the key of its pages. */
  openLogin(tokenId: string, lastsMs: number): NewLogin {
    const [secret, pageKey] = [newSecret(), newSecret()];
    const now = this.#now();
    const expiresAt = now + lastsMs;
    this.#change(({ tokens, logins }) => {
      // Repeated logins replace the oldest logins of the same token only.
      const crowded = new Set(logins.filter((login) => login.tokenId === tokenId).slice(0, 1 - mostLogins));
      return {
        tokens,
        logins: [
          ...logins.filter((login) => login.expiresAt > now && !crowded.has(login)),
          { hash: hashSecret(secret), keyHash: hashSecret(pageKey), tokenId, expiresAt },
        ],
      };
    });
    return { secret, pageKey, expiresAt };
  }

  /** The token of a browser login. Needs both secrets. `tokenId` may be of a token that is not in the file. */
  findLogin(
    secret: string,
    pageKey: string,
  ):
    | { readonly tokenId: string; readonly record: TokenRecord | undefined; readonly expiresAt: number }
    | undefined {
    const { tokens, logins } = this.#read();
    const login = findByHash(logins, secret);
    const now = this.#now();
    if (login === undefined || login.expiresAt <= now) return undefined;
    if (findByHash([{ hash: login.keyHash }], pageKey) === undefined) return undefined;
    const record = tokens.find(({ tokenId }) => tokenId === login.tokenId);
    if (record !== undefined && !isInTime(record.expiresAt, now)) return undefined;
    return { tokenId: login.tokenId, record, expiresAt: login.expiresAt };
  }

  closeLogin(secret: string): void {
    const hash = hashSecret(secret);
    this.#change(({ tokens, logins }) => ({ tokens, logins: logins.filter((login) => login.hash !== hash) }));
  }

  /** Changes whenever a token or login changes. */
  get revision(): string {
    this.#read();
    return this.#path === undefined ? String(this.#changes) : (this.#stamp ?? '');
  }

  #read(): Content {
    if (this.#path === undefined) return this.#content;
    const found = statSync(this.#path, { throwIfNoEntry: false, bigint: true });
    const stamp = found && `${found.ino}/${found.mtimeNs}/${found.size}/${found.mode}/${found.uid}`;
    if (stamp === this.#stamp) return this.#content;
    this.check();
    this.#content = stamp === undefined ? { tokens: [], logins: [] } : parseContent(this.#path);
    this.#stamp = stamp;
    return this.#content;
  }

  #change(change: (content: Content) => Content | undefined): void {
    if (this.#path === undefined) {
      this.#content = change(this.#content) ?? this.#content;
      this.#changes++;
      return;
    }
    const release = lock(`${this.#path}.lock`);
    try {
      this.#stamp = undefined;
      const next = change(this.#read());
      if (next !== undefined)
        replaceFile(this.#path, `${JSON.stringify({ version: 1, ...next }, undefined, 1)}\n`);
    } finally {
      release();
    }
  }
}

const longestName = 200;

/** What may stand on a decision, before a worker's name, and in a terminal. */
export function checkTokenName(name: string): void {
  if (name.trim() === '' || name.length > longestName || /[\p{Cc}\p{Cs}]/u.test(name))
    throw new QuittanceError(
      'config.invalid',
      `A token needs a name of 1 to ${longestName} characters, without control characters: it stands on every decision made with it.`,
    );
  if (name.includes(nameSeparator))
    throw new QuittanceError(
      'config.invalid',
      `The name of a token may not hold "${nameSeparator}", which joins it to the name of a worker. Found ${JSON.stringify(name)}.`,
    );
}

const toRecord = ({ tokenId, name, role, createdAt, expiresAt, person, principals }: Kept): TokenRecord => ({
  tokenId,
  name,
  role,
  createdAt,
  expiresAt,
  person,
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

/** A process holds the lock for a few milliseconds to change the file. An old lock is left from a crash. */
function lock(path: string): () => void {
  for (let tries = 0; ; tries++)
    try {
      closeSync(openSync(path, 'wx', 0o600));
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > staleLockMs) rmSync(path, { force: true });
      else if (tries > 200)
        throw new QuittanceError(
          'ledger.unavailable',
          `Another process is changing the tokens: ${path} exists. Try again.`,
        );
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
}
const staleLockMs = 5_000;

function replaceFile(path: string, content: string): void {
  const draft = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(draft, content, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true }); // on a full disk, a leftover draft takes up space
    throw error;
  }
}

function parseContent(path: string): Content {
  let value: JsonValue;
  try {
    value = readJsonText(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw broken(path, cause);
  }
  if (!isJsonObject(value) || value['version'] !== 1) throw broken(path);
  const { tokens, logins } = value;
  if (!Array.isArray(tokens) || !Array.isArray(logins)) throw broken(path);
  return {
    tokens: (tokens as readonly JsonValue[]).map((each) => {
      if (!isJsonObject(each)) throw broken(path);
      const { tokenId, name, role, createdAt, expiresAt, hash, person } = each;
      const principals =
        each['principals'] === undefined ? undefined : readTokenPrincipals(each['principals']);
      // An unreadable limit must not count as no limit.
      if (each['principals'] !== undefined && principals === undefined) throw broken(path);
      if (
        typeof tokenId !== 'string' ||
        typeof name !== 'string' ||
        !isRole(role) ||
        typeof hash !== 'string' ||
        (person !== undefined && typeof person !== 'string')
      )
        throw broken(path);
      return {
        tokenId,
        name,
        role,
        hash,
        createdAt: Number(createdAt),
        expiresAt: timeOf(each, expiresAt),
        person,
        principals,
      };
    }),
    logins: (logins as readonly JsonValue[]).flatMap((each) => {
      if (!isJsonObject(each)) throw broken(path);
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

/** An unreadable time counts as expired. */
const timeOf = (record: JsonObject, expiresAt: JsonValue | undefined): number | undefined =>
  Object.hasOwn(record, 'expiresAt') ? (typeof expiresAt === 'number' ? expiresAt : 0) : undefined;

const broken = (path: string, cause?: unknown): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `${path} is not a file of tokens as this version writes them. Restore it, or remove it and create the tokens anew with: quittance tokens create`,
    {},
    cause,
  );
