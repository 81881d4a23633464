/**
 * The sign-ins of people, shared by all servers of a ledger.
 *
 * 1. A sign-in is accepted only while the provider has confirmed the person recently, within its idle time and its
 *    lifetime. Who may do what is judged by the options of this server at every request.
 * 2. A secret is replaced whenever the provider confirms the person again. A replaced secret that comes back after its
 *    successor was used belongs to a thief or to their victim: the sign-in ends for both.
 * 3. One server at a time asks the provider about a sign-in, because a refresh token works once.
 */
import { randomBytes } from 'node:crypto';
import type { Awaitable } from 'quittance/internal/base/json';
import type { Role } from '../api/role.ts';
import { hashSecret, isSecretOf } from 'quittance/internal/runtime/tokens';
import type {
  Person,
  KeptSignIn,
  SignInKind,
  StoredContent,
  SignInContent,
} from 'quittance/internal/runtime/tokens';
import type { LogoutClaims, Provider, Verified, ProviderTokens } from './provider.ts';
import type { PersonId } from './with-sign-in.ts';
import { isSamePerson, personKeptMs, retire, withPerson, withSignIn, withoutPerson } from './with-sign-in.ts';
import type { SignInSettings } from './sign-in-options.ts';
import type { SignIn } from './sign-in.ts';
import { isSignInSecret, newSignInSecret, signInIdOf } from './sign-in-secret.ts';
import { ProviderError } from './provider.ts';
import type { Seal } from 'quittance/internal/ledger/seal';

/** The parts that sign-ins are made of. */
export type SignInsOptions = {
  readonly content: StoredContent<SignInContent>;
  readonly settings: SignInSettings;
  readonly provider: Provider;
  readonly seal: Seal;
  readonly now: () => number;
  /** Receives errors of the provider that no person sees. */
  readonly onError: (error: unknown) => void;
};

export type OpenedSignIn = { readonly signInId: string; readonly secret: string; readonly pageKey: string };

/** Of one person. */
const mostSignIns = 20;
/** Requests that were sent before the browser had the new secret arrive within this time. */
const inFlightMs = 30_000;

export class SignIns {
  readonly #options: SignInsOptions;
  /** Questions to the provider that this server waits for, by sign-in. */
  readonly #renewals = new Map<string, Promise<NewSecret>>();

  constructor(options: SignInsOptions) {
    this.#options = options;
  }

  get settings(): SignInSettings {
    return this.#options.settings;
  }

  get provider(): Provider {
    return this.#options.provider;
  }

  refresh(): Awaitable<void> {
    return this.#options.content.refresh();
  }

  get revision(): string {
    return this.#options.content.revision;
  }

  /** The role that this server gives a person. */
  roleOf(person: Person): Role | undefined {
    return roleOf(this.#options.settings, person);
  }

  /** Stores a new sign-in. Its secrets are new: none comes from the browser. */
  async open(
    kind: SignInKind,
    verified: Verified,
    /** When the provider confirmed the person. */
    verifiedAt: number = this.#options.now(),
  ): Promise<OpenedSignIn> {
    const { now, content } = this.#options;
    const signInId = randomBytes(8).toString('hex');
    const [secret, pageKey] = [newSignInSecret(signInId), newSignInSecret('key')];
    const at = now();
    const kept: KeptSignIn = {
      signInId,
      kind,
      person: verified.person,
      providerSession: verified.providerSession,
      hash: hashSecret(secret),
      keyHash: kind === 'browser' ? hashSecret(pageKey) : undefined,
      replaced: [],
      sealed: sealTokens(this.#options.seal, signInId, verified.tokens),
      hasRefreshToken: verified.tokens.refreshToken !== undefined,
      createdAt: at,
      seenAt: at,
      verifiedAt,
      renewingAt: undefined,
    };
    await content.change((current) => {
      const mine = current.signIns.filter(({ person }) => isSamePerson(person, verified.person));
      const crowded = new Set(mine.slice(0, Math.max(0, mine.length + 1 - mostSignIns)));
      return {
        ...withPerson(
          current,
          verified.person,
          verifiedAt,
          personKeptMs(this.#options.settings),
          this.roleOf(verified.person),
        ),
        signIns: [...current.signIns.filter((each) => this.#isLive(each, at) && !crowded.has(each)), kept],
      };
    });
    return { signInId, secret, pageKey };
  }

  /** The sign-in of a secret and, for a browser, its page key. Changes nothing. */
  find(secret: string, pageKey: string | undefined): SignIn | undefined {
    const kept = this.#keptOf(secret, pageKey);
    if (kept === undefined || this.#useOf(kept, secret) === 'stale') return undefined;
    return this.#accept(kept);
  }

  findById(signInId: string): SignIn | undefined {
    const kept = this.#kept(signInId);
    return kept && this.#accept(kept);
  }

  /** Sign-ins within their lifetime, also those that wait for the provider. */
  list(): readonly SignIn[] {
    return this.#options.content.read().signIns.flatMap((kept) => this.#accept(kept) ?? []);
  }

  /** Is this the provider of this server? */
  isIssuer(issuer: string): boolean {
    return isIssuer(this.#options.settings, issuer);
  }

  /** Was the person confirmed within the lifetime of a sign-in, and not refused since? Returns their role and groups now. */
  knownPerson(
    issuer: string,
    subject: string,
  ): { readonly role: Role; readonly groups: readonly string[] } | undefined {
    const { content, now, settings } = this.#options;
    const known = content.read().people.find(({ person }) => isSamePerson(person, { issuer, subject }));
    if (known === undefined || now() >= known.verifiedAt + settings.lifetimeMs) return undefined;
    const role = this.roleOf(known.person);
    return role && { role, groups: known.person.groups };
  }

  /**
   * The step before a request is judged. It notes the use, and ends the sign-in if its secret was replaced. When it is
   * time, it asks the provider. Returns the new secret, if there is one.
   */
  async visit(
    secret: string,
    pageKey: string | undefined,
    /** Does the request count as use? Requests that a page repeats by itself do not. */
    isUse: boolean,
  ): Promise<NewSecret> {
    const { content, now, settings } = this.#options;
    const kept = this.#keptOf(secret, pageKey);
    if (kept === undefined || !this.#isLive(kept, now())) return undefined;
    const use = this.#useOf(kept, secret);
    if (use === 'stale') {
      await this.end(kept.signInId, 'keep person');
      return undefined;
    }
    if (kept.hasRefreshToken && now() >= kept.verifiedAt + settings.refreshMs) {
      const running =
        this.#renewals.get(kept.signInId) ?? renewSignIn(this.#options, kept.signInId, secret, isUse);
      this.#renewals.set(kept.signInId, running);
      return running.finally(() => this.#renewals.delete(kept.signInId));
    }
    const isFirstUse = use === 'current' && kept.replaced.some(({ retiredAt }) => retiredAt === undefined);
    const at = now();
    if (!isFirstUse && !(isUse && at - kept.seenAt >= settings.idleMs / 20)) return undefined;
    await content.change((current) =>
      withSignIn(current, kept.signInId, (each) => ({
        ...each,
        seenAt: isUse ? Math.max(each.seenAt, at) : each.seenAt,
        replaced: isFirstUse ? retire(each.replaced, at) : each.replaced,
      })),
    );
    return undefined;
  }

  /** Ends a sign-in and makes its tokens useless. `keep person`: decision links that the person made stay valid. */
  async end(signInId: string, who: 'keep person' | 'forget person'): Promise<SignIn | undefined> {
    const kept = this.#kept(signInId);
    if (kept === undefined) return undefined;
    await this.#options.content.change((current) => ({
      ...current,
      signIns: current.signIns.filter((each) => each.signInId !== signInId),
      people: current.people.filter(
        ({ person }) => who === 'keep person' || !isSamePerson(person, kept.person),
      ),
    }));
    void this.#revoke(kept);
    return this.#toSignIn(kept, this.roleOf(kept.person) ?? 'viewer');
  }

  /** Ends all sign-ins of a person. Returns how many there were. */
  async endPerson(issuer: string, subject: string): Promise<number> {
    const isTheirs = (person: PersonId): boolean => isSamePerson(person, { issuer, subject });
    const { content } = this.#options;
    const ended = content.read().signIns.filter(({ person }) => isTheirs(person));
    await content.change((current) => withoutPerson(current, isTheirs));
    for (const kept of ended) void this.#revoke(kept);
    return ended.length;
  }

  /** Ends what the provider ended. False if this token was used before. */
  async endByProvider(claims: LogoutClaims): Promise<boolean> {
    const { content, now } = this.#options;
    const hash = hashSecret(claims.tokenId);
    const { providerSession, subject } = claims;
    let isNew = false;
    await content.change((current) => {
      isNew = !current.usedTokens.some((used) => used.hash === hash);
      if (!isNew) return undefined;
      const isTheirs = (person: PersonId): boolean =>
        this.isIssuer(person.issuer) && (subject === undefined || person.subject === subject);
      const isEnded = (kept: Pick<KeptSignIn, 'providerSession'> & { readonly person: PersonId }): boolean =>
        isTheirs(kept.person) && (providerSession === undefined || kept.providerSession === providerSession);
      // Without a session, the provider ends all that the person has: perhaps the account is disabled.
      const isForgotten = ({ person }: { readonly person: Person }): boolean =>
        providerSession === undefined && isTheirs(person);
      return {
        ...current,
        signIns: current.signIns.filter((kept) => !isEnded(kept)),
        devices: current.devices.filter(({ signedIn }) => signedIn === undefined || !isEnded(signedIn)),
        people: current.people.filter((known) => !isForgotten(known)),
        usedTokens: [
          ...current.usedTokens.filter(({ expiresAt }) => expiresAt > now()),
          { hash, expiresAt: now() + claims.rememberMs },
        ],
      };
    });
    return isNew;
  }

  /** The address at the provider that also ends its session. */
  async endSessionUrl(signInId: string, returnTo: string): Promise<string | undefined> {
    const kept = this.#kept(signInId);
    if (kept === undefined) return undefined;
    try {
      return await this.#options.provider.endSessionUrl(openTokens(this.#options.seal, kept), returnTo);
    } catch (error) {
      this.#options.onError(error);
      return undefined;
    }
  }

  #keptOf(secret: string, pageKey: string | undefined): KeptSignIn | undefined {
    if (!isSignInSecret(secret)) return undefined;
    const kept = this.#kept(signInIdOf(secret));
    if (kept === undefined) return undefined;
    const isPage = kept.keyHash === undefined || (pageKey !== undefined && isSecretOf(kept.keyHash, pageKey));
    const isKnown = [kept, ...kept.replaced].some(({ hash }) => isSecretOf(hash, secret));
    return isPage && isKnown ? kept : undefined;
  }

  #useOf(kept: KeptSignIn, secret: string): 'current' | 'replaced' | 'stale' {
    if (isSecretOf(kept.hash, secret)) return 'current';
    const { retiredAt } = kept.replaced.find(({ hash }) => isSecretOf(hash, secret)) ?? { retiredAt: 0 };
    const isStale = retiredAt !== undefined && this.#options.now() >= retiredAt + inFlightMs;
    return isStale ? 'stale' : 'replaced';
  }

  #kept(signInId: string): KeptSignIn | undefined {
    return this.#options.content.read().signIns.find((each) => each.signInId === signInId);
  }

  #accept(kept: KeptSignIn): SignIn | undefined {
    const role = this.roleOf(kept.person);
    return role !== undefined && this.#isLive(kept, this.#options.now())
      ? this.#toSignIn(kept, role)
      : undefined;
  }

  #toSignIn(kept: KeptSignIn, role: Role): SignIn {
    const { refreshMs, lifetimeMs, withoutRefreshMs } = this.#options.settings;
    const { signInId, kind, person, createdAt, seenAt, verifiedAt } = kept;
    const endsAt = createdAt + lifetimeMs;
    const confirmedMs = kept.hasRefreshToken ? 2 * refreshMs : withoutRefreshMs;
    const confirmedUntil = Math.min(endsAt, verifiedAt + confirmedMs);
    return { signInId, kind, person, role, createdAt, seenAt, verifiedAt, endsAt, confirmedUntil };
  }

  /** Within its idle time and its lifetime? It may wait for the provider. */
  #isLive({ createdAt, seenAt, verifiedAt, hasRefreshToken }: KeptSignIn, now: number): boolean {
    const { idleMs, lifetimeMs, withoutRefreshMs } = this.#options.settings;
    if (now >= createdAt + lifetimeMs || now >= seenAt + idleMs) return false;
    return hasRefreshToken || now < verifiedAt + withoutRefreshMs;
  }

  async #revoke(kept: KeptSignIn): Promise<void> {
    try {
      await this.#options.provider.revoke(openTokens(this.#options.seal, kept));
    } catch (error) {
      this.#options.onError(error); // the sign-in is over here in any case
    }
  }
}

/** Asks the provider whether a person may still sign in. */

/** A secret that replaces the one of the request; undefined if that stays valid. */
type NewSecret = { readonly secret: string } | undefined;

const mostReplaced = 8;
/** A server that began to renew and did not finish within this time has crashed. */
const renewWithinMs = 30_000;

/** Renews a sign-in, unless another server does. After a refusal, the sign-in is removed. */
async function renewSignIn(
  options: SignInsOptions,
  signInId: string,
  /** The secret of the request. */
  given: string,
  isUse: boolean,
): Promise<NewSecret> {
  const kept = await claim(options, signInId);
  if (kept === undefined) return undefined;
  const { content, now, settings, seal, onError } = options;
  let verified: Verified;
  try {
    verified = await ask(options, kept);
  } catch (error) {
    if (!(error instanceof ProviderError) || error.kind !== 'unreachable') return forget(options, kept);
    onError(error);
    await content.change((current) =>
      withSignIn(current, signInId, (each) => ({ ...each, renewingAt: undefined })),
    );
    return undefined;
  }
  const secret = kept.kind === 'browser' ? newSignInSecret(signInId) : undefined;
  const at = now();
  await content.change((current) => {
    // The person may have been signed out meanwhile. Then nothing of theirs may come back.
    if (!current.signIns.some((each) => each.signInId === signInId)) return undefined;
    const known = withPerson(
      current,
      verified.person,
      at,
      personKeptMs(settings),
      roleOf(settings, verified.person),
    );
    return withSignIn(known, signInId, (each) => ({
      ...each,
      person: verified.person,
      providerSession: verified.providerSession ?? each.providerSession,
      sealed: sealTokens(seal, signInId, verified.tokens),
      verifiedAt: at,
      seenAt: isUse ? at : each.seenAt,
      renewingAt: undefined,
      ...(secret !== undefined && {
        hash: hashSecret(secret),
        replaced: [
          { hash: each.hash, retiredAt: undefined },
          ...(isSecretOf(each.hash, given) ? retire(each.replaced, at) : each.replaced),
        ].slice(0, mostReplaced),
      }),
    }));
  });
  return secret === undefined ? undefined : { secret };
}

/** One server at a time: a refresh token works once. */
async function claim(
  { content, now, settings }: SignInsOptions,
  signInId: string,
): Promise<KeptSignIn | undefined> {
  let claimed: KeptSignIn | undefined;
  await content.change((current) => {
    const each = current.signIns.find((one) => one.signInId === signInId);
    claimed = undefined;
    if (each === undefined || now() < each.verifiedAt + settings.refreshMs) return undefined;
    if (each.renewingAt !== undefined && now() < each.renewingAt + renewWithinMs) return undefined;
    claimed = each;
    return withSignIn(current, signInId, (one) => ({ ...one, renewingAt: now() }));
  });
  return claimed;
}

async function ask({ provider, seal, settings }: SignInsOptions, kept: KeptSignIn): Promise<Verified> {
  const { refreshToken, ...tokens } = openTokens(seal, kept);
  if (refreshToken === undefined) throw new ProviderError('invalid', 'There is no refresh token.');
  const verified = await provider.renew(kept.person, { ...tokens, refreshToken });
  if (roleOf(settings, verified.person) === undefined)
    throw new ProviderError('refused', 'None of the groups of the person has a role.');
  return verified;
}

/** The provider no longer confirms the person. Links that they made end too. */
async function forget({ content }: SignInsOptions, { signInId, person }: KeptSignIn): Promise<undefined> {
  await content.change((current) => ({
    ...current,
    signIns: current.signIns.filter((each) => each.signInId !== signInId),
    devices: current.devices.filter(
      ({ signedIn }) => signedIn === undefined || !isSamePerson(signedIn.person, person),
    ),
    people: current.people.filter((known) => !isSamePerson(known.person, person)),
  }));
  return undefined;
}

/**
 * The role of the first entry that applies. Groups and subjects are compared exactly. A person of another provider has
 * none: groups of the same name mean something else there.
 */
export function roleOf(settings: SignInSettings, { issuer, subject, groups }: Person): Role | undefined {
  if (!isIssuer(settings, issuer)) return undefined;
  const rule = settings.roles.find((each) =>
    'group' in each ? groups.includes(each.group) : each.subject === subject,
  );
  return rule?.role;
}

export const isIssuer = ({ issuer }: SignInSettings, given: string): boolean =>
  URL.parse(given)?.href === issuer.href;

const context = (signInId: string): string => `sign-in ${signInId}`;

export const sealTokens = (seal: Seal, signInId: string, tokens: ProviderTokens): string =>
  seal.seal(JSON.stringify(tokens), context(signInId));

/** Throws if they were sealed with another key. */
export const openTokens = (seal: Seal, { signInId, sealed }: KeptSignIn): ProviderTokens =>
  JSON.parse(seal.open(sealed, context(signInId))) as ProviderTokens; // written by sealTokens
