/**
 * Identifies the caller of a request and checks its role.
 *
 * 1. A caller sends a bearer token in a header, or the cookie of a browser login. URLs carry no credentials.
 * 2. A cookie counts only together with the page key of the same login, for reading and for changing. Browsers send
 *    cookies to every port of a host, so another local server can collect them. The key is in the storage of this
 *    origin, which no other port can read, and travels in a header that no form can set. A request that says it comes
 *    from another site is refused as well.
 * 3. The server answers only to its own host names, so another name cannot be pointed at it.
 */
import type { Needed } from 'quittance/internal/call/role';
import { allows } from 'quittance/internal/call/role';
import type { Awaitable } from 'quittance/internal/base/json';
import { whenReady } from 'quittance/internal/base/deadlines';
import { isSameName } from 'quittance/internal/call/same-identity';
import type { Actor } from './actor.ts';
import { anonymous } from './actor.ts';
import { HttpRefusal } from './problem.ts';
import { refuseOtherSites } from './refuse-other-sites.ts';
import type { SignIn } from './sign-in/sign-in.ts';
import type { SignIns } from './sign-in/sign-ins.ts';
import { isSignInSecret } from './sign-in/sign-in-secret.ts';
import { signInActor, tokenActor } from './token-actor.ts';
import type { FoundLogin, Tokens } from 'quittance/internal/runtime/tokens';
import { timingSafeEqual, randomBytes } from 'node:crypto';
import { hashSecret } from 'quittance/internal/runtime/tokens';

export type AccessOptions = {
  readonly tokens: Tokens;
  /** The sign-ins of people; undefined without an identity provider. */
  readonly signIns: SignIns | undefined;
  /** A token that is not stored and ends with the process. */
  readonly local: { readonly token: string; readonly name: string } | undefined;
  /** Host names and ports of the server, in lower case, e.g. `127.0.0.1:4747`. */
  readonly hosts: () => ReadonlySet<string>;
  readonly cookieName: () => string;
  /** Send the cookie over TLS only. */
  readonly secure: boolean;
  readonly now: () => number;
};

/** The header with the key that the pages of this origin store. */
export const pageKeyHeader = 'x-quittance-page-key';

/** Pages send this header while a person uses them. Without it, a request does not prolong a sign-in. */
const activeHeader = 'x-quittance-active';

/** The secrets that a browser receives at login. */
export type OpenedLogin = { readonly cookie: string; readonly pageKey: string };

/** Another server on the same host can set cookies of the same name. This many are checked. */
const mostCookies = 32;

/** So many tabs of a browser may sign in at the same time. */
export const attemptSlots = [0, 1, 2] as const;

const bearerToken = /^Bearer ([\w.~+/-]{1,200}=*)$/i;
const loginLastsMs = 12 * 3_600_000;
/** How often a waiting request checks that its token is still valid. */
const lookEveryMs = 250;

export class Access {
  readonly #options: AccessOptions;
  readonly #local: LocalToken | undefined;
  readonly #codes: LoginCodes;
  /** The sign-in of a request, by its headers. While the request runs, its secret may be replaced. */
  readonly #signedIn = new WeakMap<Headers, string>();

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#local = options.local && new LocalToken(options.local);
    this.#codes = new LoginCodes(options.now);
  }

  checkHost(headers: Headers): void {
    const host = (headers.get('host') ?? '').toLowerCase();
    if (this.#options.hosts().has(host)) return;
    throw new HttpRefusal(
      'http.wrong_host',
      `This server answers to ${[...this.#options.hosts()].join(', ')}, not to ${JSON.stringify(host.slice(0, 100))}. Start it with --allow-host to add a name.`,
    );
  }

  /**
   * Reads the current tokens and sign-ins, if the request could need them. A read without a token or a page key needs
   * none: it must also be answered while the tokens cannot be read. Returns the cookie that replaces the one of the
   * request, if there is one.
   */
  refresh(method: string, headers: Headers): Awaitable<string | undefined> {
    const isRead = method === 'GET' || method === 'HEAD';
    if (isRead && !headers.has('authorization') && !headers.has(pageKeyHeader)) return undefined;
    const { tokens, signIns } = this.#options;
    const given = this.#secretsOf(headers).filter(isSignInSecret);
    const reading = tokens.refresh();
    if (signIns === undefined || given.length === 0) return whenReady(reading, () => undefined);
    return this.#visit(signIns, headers, given, !isRead, reading);
  }

  async #visit(
    signIns: SignIns,
    headers: Headers,
    secrets: readonly string[],
    isChange: boolean,
    reading: Awaitable<void>,
  ): Promise<string | undefined> {
    await reading;
    await signIns.refresh();
    const isUse = isChange || headers.has('authorization') || headers.has(activeHeader);
    for (const secret of secrets) {
      const next = await signIns.visit(secret, headers.get(pageKeyHeader) ?? undefined, isUse);
      if (next !== undefined) return this.#cookie(next.secret, signIns.settings.lifetimeMs);
    }
    return undefined;
  }

  /** Throws if the token or cookie is invalid. Without either, the caller is anonymous. */
  identify(method: string, headers: Headers): Actor {
    const given = headers.get('authorization');
    if (given !== null) return this.#byToken(given, headers);
    const actor = this.#byCookie(headers);
    if (actor === anonymous) return anonymous;
    refuseOtherSites(method, headers, this.#options.hosts());
    return actor;
  }

  /** Changes when a caller may have lost access, and when the tokens become unreadable. */
  get revision(): string {
    try {
      const { tokens, signIns } = this.#options;
      return signIns === undefined ? tokens.revision : `${tokens.revision} ${signIns.revision}`;
    } catch {
      return 'unreadable';
    }
  }

  /** Would a request with these headers still be accepted? */
  isStillIn(method: string, headers: Headers): boolean {
    try {
      return this.identify(method, headers).role !== undefined;
    } catch {
      return false;
    }
  }

  /**
   * For a request that may wait: `ended` is aborted once its caller would no longer be accepted. Anonymous callers with
   * a link are not checked.
   */
  hold(method: string, headers: Headers): { readonly ended: AbortSignal; readonly release: () => void } {
    const ended = new AbortController();
    if (!this.isStillIn(method, headers)) return { ended: ended.signal, release: () => undefined };
    const look = async (): Promise<void> => {
      await this.#options.tokens.refresh();
      await this.#options.signIns?.refresh();
      if (!this.isStillIn(method, headers)) ended.abort();
    };
    // While the tokens cannot be read, a request that was accepted continues.
    const looking = setInterval(() => void look().catch(() => undefined), lookEveryMs);
    return { ended: ended.signal, release: () => clearInterval(looking) };
  }

  /** The holder of a token by its id, while the token is valid. */
  holderOf(tokenId: string): Actor | undefined {
    const { tokens, now } = this.#options;
    if (tokenId === this.#local?.tokenId) return this.#local.actor('token');
    const record = tokens.list().find((each) => each.tokenId === tokenId);
    if (record === undefined || (record.expiresAt ?? Infinity) <= now()) return undefined;
    return tokenActor(record, 'token', record.expiresAt);
  }

  /** The person who started this server, if they have this name. Their token is not in the ledger. */
  localNamed(name: string): Actor | undefined {
    return this.#local !== undefined && isSameName(this.#local.name, name)
      ? this.#local.actor('token')
      : undefined;
  }

  /** Throws unless the role allows it. */
  require(actor: Actor, needed: Needed): void {
    if (needed === 'anyone') return;
    if (actor.role === undefined)
      throw new HttpRefusal(
        'http.unauthenticated',
        this.#options.signIns === undefined
          ? 'Send a token: "Authorization: Bearer …". `quittance serve` prints a link to log in with; `quittance tokens create` makes a token.'
          : 'Sign in at /login, or with `quittance login`. Programs send a token: "Authorization: Bearer …"; `quittance tokens create` makes one.',
        {},
        { 'www-authenticate': 'Bearer realm="quittance"' },
      );
    if (allows(actor.role, needed)) return;
    if (actor.signIn !== undefined)
      throw new HttpRefusal(
        'http.forbidden',
        `You are signed in as ${JSON.stringify(actor.name)} with the role ${actor.role}, and this needs ${needed}. The operator of the server maps groups of the identity provider to roles.`,
        { role: actor.role, needed },
      );
    throw new HttpRefusal(
      'http.forbidden',
      `The token ${JSON.stringify(actor.name)} has the role ${actor.role}, and this needs ${needed}. Ask the operator of the server for one: quittance tokens create --role ${needed === 'operator or approver' ? 'approver' : needed}`,
      { role: actor.role, needed },
    );
  }

  /** A code for one login, with this token or as the person who started the server. */
  makeCode(tokenId: string = this.#localId): string {
    return this.#codes.make(tokenId);
  }

  /** The name that a valid one-time code logs in. Reading it does not use the code. */
  nameOfCode(code: string): string | undefined {
    const found = this.#codes.find(code);
    if (found === undefined) return undefined;
    if (found === this.#localId) return this.#local?.name;
    return this.#options.tokens.list().find(({ tokenId }) => tokenId === found)?.name;
  }

  /** Logs in with a one-time code; undefined if it is used, expired or unknown. */
  async loginByCode(code: string): Promise<OpenedLogin | undefined> {
    const tokenId = this.#codes.use(code);
    return tokenId === undefined ? undefined : this.#openLogin(tokenId);
  }

  /** Logs in with a token; undefined if the token is not valid. */
  async loginByToken(token: string): Promise<OpenedLogin | undefined> {
    const isLocal = this.#local?.is(token) === true;
    const tokenId = isLocal ? this.#localId : this.#options.tokens.findToken(token)?.tokenId;
    return tokenId === undefined ? undefined : this.#openLogin(tokenId);
  }

  /**
   * Ends the login or sign-in of this browser and returns the cookie that removes it. Needs the page key as well as the
   * cookie. `next`: the page of the provider that also ends its session.
   */
  async logout(
    headers: Headers,
    returnTo: string,
  ): Promise<{ readonly cookie: string; readonly next: string | undefined }> {
    const secret = this.#findLogin(headers)?.secret;
    if (secret !== undefined) await this.#options.tokens.closeLogin(secret);
    const { signIns } = this.#options;
    const signIn = this.#signInOf(headers);
    const next = signIn && (await signIns?.endSessionUrl(signIn.signInId, returnTo));
    if (signIn !== undefined) await signIns?.end(signIn.signInId, 'keep person');
    return { cookie: this.#cookie('', 0), next };
  }

  /**
   * The cookie of a sign-in that begins. Browsers send it when the provider sends the person back. `slot`: two tabs may
   * sign in at the same time, each with a cookie of its own.
   */
  attemptCookie(slot: number, value: string, lastsMs: number): string {
    const secure = this.#options.secure ? '; Secure' : '';
    return `${this.#attemptName(slot)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${lastsMs / 1_000}${secure}`;
  }

  /** The sign-ins that this browser began. */
  attemptsOf(headers: Headers): readonly { readonly slot: number; readonly sealed: string }[] {
    return attemptSlots.flatMap((slot) =>
      this.#cookiesOf(headers, this.#attemptName(slot)).map((sealed) => ({ slot, sealed })),
    );
  }

  #attemptName(slot: number): string {
    return `${this.#options.cookieName()}-start${slot === 0 ? '' : `-${slot}`}`;
  }

  /** The cookie and the page key of a new sign-in. */
  openSignIn({ secret, pageKey }: { readonly secret: string; readonly pageKey: string }): OpenedLogin {
    const { lifetimeMs = 0 } = this.#options.signIns?.settings ?? {};
    return { cookie: this.#cookie(secret, lifetimeMs), pageKey };
  }

  #cookie(value: string, lastsMs: number): string {
    const secure = this.#options.secure ? '; Secure' : '';
    return `${this.#options.cookieName()}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${lastsMs / 1_000}${secure}`;
  }

  async #openLogin(tokenId: string): Promise<OpenedLogin> {
    const { secret, pageKey } = await this.#options.tokens.openLogin(tokenId, loginLastsMs);
    return { cookie: this.#cookie(secret, loginLastsMs), pageKey };
  }

  #byToken(header: string, headers: Headers): Actor {
    const token = bearerToken.exec(header)?.[1];
    if (token !== undefined) {
      if (this.#local?.is(token) === true) return this.#local.actor('token');
      const signIn = this.#findSignIn(headers);
      if (signIn !== undefined) return signInActor(signIn, 'token');
      const record = this.#options.tokens.findToken(token);
      if (record !== undefined) return tokenActor(record, 'token', record.expiresAt);
    }
    throw new HttpRefusal(
      'http.unauthenticated',
      'The token is unknown, was revoked, or its time is up. `quittance tokens list` shows which there are.',
      {},
      { 'www-authenticate': 'Bearer realm="quittance", error="invalid_token"' },
    );
  }

  #byCookie(headers: Headers): Actor {
    const signIn = this.#findSignIn(headers);
    if (signIn !== undefined) return signInActor(signIn, 'cookie');
    const login = this.#findLogin(headers);
    if (login === undefined) return anonymous;
    if (login.record !== undefined) return tokenActor(login.record, 'cookie', login.expiresAt);
    // The token of this process has no record; any other without one was revoked.
    if (login.tokenId !== this.#local?.loginId) return anonymous;
    return this.#local.actor('cookie', login.expiresAt);
  }

  /** The sign-in of a request, also while the provider cannot confirm it. */
  #signInOf(headers: Headers): SignIn | undefined {
    const { signIns } = this.#options;
    if (signIns === undefined) return undefined;
    const known = this.#signedIn.get(headers);
    if (known !== undefined) return signIns.findById(known);
    const pageKey = headers.get(pageKeyHeader) ?? undefined;
    let signIn: SignIn | undefined;
    for (const secret of this.#secretsOf(headers)) signIn ??= signIns.find(secret, pageKey);
    return signIn;
  }

  /** The same. Throws while the provider cannot confirm it. */
  #findSignIn(headers: Headers): SignIn | undefined {
    const { now } = this.#options;
    const signIn = this.#signInOf(headers);
    if (signIn === undefined) return undefined;
    if (now() >= signIn.confirmedUntil)
      throw new HttpRefusal(
        'http.provider_unavailable',
        'The identity provider cannot be reached, so the server cannot check that you may still sign in. Try again in a minute. Tokens still work.',
        {},
        { 'retry-after': '60' },
      );
    this.#signedIn.set(headers, signIn.signInId);
    return signIn;
  }

  /** The secrets that a request brings: a token in a header, or else its cookies. */
  #secretsOf(headers: Headers): readonly string[] {
    const header = headers.get('authorization');
    if (header === null) return headers.has(pageKeyHeader) ? this.#cookiesOf(headers) : [];
    const token = bearerToken.exec(header)?.[1];
    return token === undefined ? [] : [token];
  }

  /** The login whose cookie and page key both came with a request. */
  #findLogin(headers: Headers): (FoundLogin & { readonly secret: string }) | undefined {
    const pageKey = headers.get(pageKeyHeader);
    if (pageKey === null) return undefined;
    for (const secret of this.#cookiesOf(headers)) {
      const login = this.#options.tokens.findLogin(secret, pageKey);
      if (login !== undefined) return { ...login, secret };
    }
    return undefined;
  }

  /** All cookies of this name: a server on another port may have set one too. */
  #cookiesOf(headers: Headers, name = this.#options.cookieName()): readonly string[] {
    const start = `${name}=`;
    return (headers.get('cookie') ?? '')
      .split(';')
      .map((part) => part.trim())
      .filter((part) => part.startsWith(start) && part.length > start.length)
      .slice(0, mostCookies)
      .map((part) => part.slice(start.length));
  }

  get #localId(): string {
    return this.#local?.loginId ?? 'local/';
  }
}

/** The token that `serve` makes for the person who started it. It is not stored and ends with the process. */

class LocalToken {
  readonly name: string;
  /** A browser login belongs to one name: it is not valid after a restart under another name. */
  readonly loginId: string;
  /** The record of the token. It ends with the process, and so do its logins and links. */
  readonly tokenId: string;
  readonly #hash: Buffer;

  constructor({ token, name }: { readonly token: string; readonly name: string }) {
    const hash = hashSecret(token);
    this.name = name;
    this.loginId = `local/${name}`;
    this.tokenId = `local/${name}/${hash.slice(0, 8)}`;
    this.#hash = Buffer.from(hash);
  }

  is(token: string): boolean {
    // Hashes have equal length, and comparing them reveals nothing about the texts.
    return timingSafeEqual(Buffer.from(hashSecret(token)), this.#hash);
  }

  actor(by: Actor['by'], expiresAt?: number): Actor {
    return {
      name: this.name,
      role: 'admin',
      tokenId: this.tokenId,
      person: undefined,
      groups: undefined,
      principals: undefined,
      by,
      expiresAt,
      signIn: undefined,
    };
  }
}

/** One-time codes for a login. Any browser that opens the link with one can use it, once. */

const lastMs = 15 * 60_000;

class LoginCodes {
  /** By their hash. */
  readonly #codes = new Map<string, { readonly tokenId: string; readonly expiresAt: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  make(tokenId: string): string {
    const now = this.#now();
    for (const [hash, { expiresAt }] of this.#codes) if (expiresAt <= now) this.#codes.delete(hash);
    const code = randomBytes(32).toString('base64url');
    this.#codes.set(hashSecret(code), { tokenId, expiresAt: now + lastMs });
    return code;
  }

  /** The token that the code stands for; undefined if it is used, expired or unknown. Does not use it. */
  find(code: string): string | undefined {
    const found = this.#codes.get(hashSecret(code));
    return found === undefined || found.expiresAt <= this.#now() ? undefined : found.tokenId;
  }

  /** The same, and the code is used. */
  use(code: string): string | undefined {
    const tokenId = this.find(code);
    this.#codes.delete(hashSecret(code));
    return tokenId;
  }
}
