/** The options of sign-in with an identity provider. A mistake is an error when the server starts. */
import { isRole } from 'quittance/internal/call/role';
import { QuittanceError } from 'quittance/internal/base/error';
import { checkKeys } from 'quittance/internal/base/check-keys';
import type { Role } from '../api/role.ts';

/** Sign-in with an OpenID Connect provider. Tokens keep working. */
export type SignInOptions = {
  /** The URL of the provider, as its discovery document states it. https, or http on this machine. */
  readonly issuer: string;
  readonly clientId: string;
  /** Without a secret, the server is a public client that relies on PKCE. */
  readonly clientSecret?: string;
  /** How the secret is sent. Default: `client_secret_basic`. */
  readonly clientAuth?: 'client_secret_basic' | 'client_secret_post';
  /** Default: `openid`, `profile`, `email`. Many providers need `offline_access` for a refresh token. */
  readonly scopes?: readonly string[];
  /** What the provider asks of the person, e.g. `login` or `consent`. Some give a refresh token only with `consent`. */
  readonly prompt?: 'login' | 'consent' | 'select_account';
  /** The claim with the groups of a person: its name, or the path to it. Default: `groups`. */
  readonly groupsClaim?: string | readonly string[];
  /** Where the claims about a person come from. Default: `id_token`. */
  readonly claimsFrom?: 'id_token' | 'userinfo';
  /** Who has which role. The first entry that applies counts. A person without an entry has no rights. */
  readonly roles: readonly RoleRule[];
  /** The provider's name on the button. Default: the host of the issuer. */
  readonly providerName?: string;
  /** Accepted difference between the clocks of the provider and the server. Default: 30 seconds. */
  readonly clockToleranceMs?: number;
  /** A sign-in ends after this time without use. Default: one hour. */
  readonly idleMs?: number;
  /** A sign-in ends after this time in any case. Default: 12 hours. */
  readonly lifetimeMs?: number;
  /** How often the server asks the provider whether a person may still sign in. Default: 5 minutes. */
  readonly refreshMs?: number;
  /** A sign-in without a refresh token cannot be checked again, so it ends after this time. Default: one hour. */
  readonly withoutRefreshMs?: number;
};

/** Members of a group of the provider, or one person, have a role. */
export type RoleRule =
  | { readonly group: string; readonly role: Role }
  | { readonly subject: string; readonly role: Role };

/** The options with their defaults. */
export type SignInSettings = {
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly clientAuth: 'client_secret_basic' | 'client_secret_post';
  readonly scope: string;
  readonly prompt: SignInOptions['prompt'];
  readonly groupsPath: readonly string[];
  readonly claimsFrom: 'id_token' | 'userinfo';
  readonly roles: readonly RoleRule[];
  readonly providerName: string;
  readonly clockToleranceMs: number;
  readonly idleMs: number;
  readonly lifetimeMs: number;
  readonly refreshMs: number;
  readonly withoutRefreshMs: number;
};

const optionNames = [
  'issuer',
  'clientId',
  'clientSecret',
  'clientAuth',
  'scopes',
  'prompt',
  'groupsClaim',
  'claimsFrom',
  'roles',
  'providerName',
  'clockToleranceMs',
  'idleMs',
  'lifetimeMs',
  'refreshMs',
  'withoutRefreshMs',
] as const;

const minuteMs = 60_000;

export function checkSignInOptions(options: SignInOptions): SignInSettings {
  checkKeys('signIn', options, optionNames);
  const { clientId, clientSecret, clientAuth = 'client_secret_basic', claimsFrom = 'id_token' } = options;
  const issuer = readIssuer(options.issuer);
  if (!isText(clientId)) throw wrong('clientId', 'the id of this server at the provider', clientId);
  // An empty secret is a variable that was not set. It must not turn the server into a public client.
  if (clientSecret !== undefined && !isText(clientSecret))
    throw new QuittanceError('config.invalid', 'signIn.clientSecret is empty. Set it, or leave it out.');
  if (clientAuth !== 'client_secret_basic' && clientAuth !== 'client_secret_post')
    throw wrong('clientAuth', 'client_secret_basic or client_secret_post', clientAuth);
  if (claimsFrom !== 'id_token' && claimsFrom !== 'userinfo')
    throw wrong('claimsFrom', 'id_token or userinfo', claimsFrom);
  const { scopes = ['openid', 'profile', 'email'], groupsClaim = 'groups' } = options;
  if (!Array.isArray(scopes) || !scopes.every(isScope) || !scopes.includes('openid'))
    throw wrong('scopes', 'a list of scopes with "openid"', scopes);
  const { prompt } = options;
  if (prompt !== undefined && !['login', 'consent', 'select_account'].includes(prompt))
    throw wrong('prompt', 'login, consent or select_account', prompt);
  const groupsPath = typeof groupsClaim === 'string' ? [groupsClaim] : groupsClaim;
  if (!Array.isArray(groupsPath) || groupsPath.length === 0 || !groupsPath.every(isText))
    throw wrong('groupsClaim', 'the name of a claim, or a list of names that leads to it', groupsClaim);
  const { providerName = issuer.host } = options;
  if (!isText(providerName)) throw wrong('providerName', 'a name for the button', providerName);
  const lifetimeMs = readSpan('lifetimeMs', options.lifetimeMs, 12 * 60 * minuteMs, minuteMs);
  return {
    issuer,
    clientId,
    clientSecret,
    clientAuth,
    scope: scopes.join(' '),
    prompt,
    groupsPath,
    claimsFrom,
    roles: readRoles(options.roles),
    providerName,
    clockToleranceMs: readSpan('clockToleranceMs', options.clockToleranceMs, minuteMs / 2, 0),
    idleMs: readSpan('idleMs', options.idleMs, Math.min(60 * minuteMs, lifetimeMs), minuteMs),
    lifetimeMs,
    refreshMs: readSpan('refreshMs', options.refreshMs, 5 * minuteMs, 1_000),
    withoutRefreshMs: readSpan('withoutRefreshMs', options.withoutRefreshMs, 60 * minuteMs, minuteMs),
  };
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= 1_000;
/** The characters of a scope, by RFC 6749. */
const isScope = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value);

/** Over http, everyone on the way could sign in as anyone. */
function readIssuer(given: unknown): URL {
  const issuer = typeof given === 'string' ? URL.parse(given) : null;
  const isHere = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(issuer?.hostname ?? '');
  const isSafe = issuer?.protocol === 'https:' || (issuer?.protocol === 'http:' && isHere);
  if (issuer === null || !isSafe || issuer.search !== '' || issuer.hash !== '' || issuer.username !== '')
    throw wrong('issuer', 'an https address such as https://login.example.org', given);
  return issuer;
}

function readRoles(given: unknown): readonly RoleRule[] {
  if (!Array.isArray(given) || given.length === 0)
    throw new QuittanceError(
      'config.invalid',
      'signIn.roles says which group has which role, e.g. [{ group: "agents-approvers", role: "approver" }]. Without an entry, no person has rights.',
    );
  return given.map((rule: unknown): RoleRule => {
    const fields: Readonly<Record<string, unknown>> =
      typeof rule === 'object' && rule !== null ? { ...rule } : {};
    const { group, subject, role, ...more } = fields;
    const who = isText(group) !== isText(subject) && (group === undefined || subject === undefined);
    if (!who || !isRole(role) || Object.keys(more).length > 0)
      throw wrong(
        'roles',
        'entries with "group" or "subject", and "role" (viewer, operator, approver or admin)',
        rule,
      );
    return isText(group) ? { group, role } : { subject: String(subject), role };
  });
}

function readSpan(name: string, given: unknown, otherwise: number, least: number): number {
  if (given === undefined) return otherwise;
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= least) return given;
  throw wrong(name, `a whole number of milliseconds, at least ${least}`, given);
}

const wrong = (name: string, expected: string, found: unknown): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `signIn.${name} must be ${expected}; found ${(JSON.stringify(found) ?? 'nothing').slice(0, 200)}.`,
  );
