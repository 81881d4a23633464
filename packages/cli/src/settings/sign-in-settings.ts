/** The settings of sign-in with an identity provider: the section `sign_in` of the configuration file. */
import { mayDo } from 'quittance/internal/call/role';
import { readFileSync } from 'node:fs';
import { isJsonObject, parseJson } from 'quittance/internal/base/json';
import type { RoleRule, SignInOptions } from '@quittance/server/internal/http/sign-in/sign-in-options';
import type { Given } from '../command.ts';
import type { Environment } from '../terminal.ts';
import { parseSpan } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';
import { needFile } from '../load-or-explain.ts';
import type { Settings } from './setting.ts';

/** Not a setting: an option would be visible to every user of the machine. */
export const signInSecretVariable = 'QUITTANCE_SIGN_IN_CLIENT_SECRET';

const text = { type: 'string', minLength: 1 } as const;
const role = { enum: Object.keys(mayDo) } as const;
const rolesSchema = {
  type: 'array',
  minItems: 1,
  items: {
    anyOf: [
      {
        type: 'object',
        properties: { group: text, role },
        required: ['group', 'role'],
        additionalProperties: false,
      },
      {
        type: 'object',
        properties: { subject: text, role },
        required: ['subject', 'role'],
        additionalProperties: false,
      },
    ],
  },
} as const;

const asked: Settings = {
  'sign-in-issuer': {
    value: 'URL',
    help: 'OpenID Connect provider that people sign in with',
    key: 'sign_in.issuer',
  },
  'sign-in-client-id': {
    value: 'ID',
    help: 'Id of this server at the provider',
    key: 'sign_in.client_id',
  },
  'sign-in-client-secret-file': {
    value: 'FILE',
    help: `File with the secret of this server at the provider. Or set ${signInSecretVariable}`,
    key: 'sign_in.client_secret_file',
    file: true,
  },
  'sign-in-client-auth': {
    value: 'METHOD',
    help: 'How the secret is sent; default: client_secret_basic',
    key: 'sign_in.client_auth',
    choices: ['client_secret_basic', 'client_secret_post'],
  },
  'sign-in-roles': {
    value: 'JSON',
    help: 'Roles of groups or people, first match counts: [{"group":"payments","role":"approver"}]',
    key: 'sign_in.roles',
    kind: 'json',
    schema: rolesSchema,
  },
  'sign-in-scopes': {
    value: 'SCOPE',
    help: 'Scopes to ask for; default: openid, profile, email',
    key: 'sign_in.scopes',
    multiple: true,
  },
  'sign-in-prompt': {
    value: 'WORD',
    help: 'What the provider asks of the person each time',
    key: 'sign_in.prompt',
    choices: ['login', 'consent', 'select_account'],
  },
  'sign-in-groups-claim': {
    value: 'NAME',
    help: 'Claim with the groups of a person; several names are a path; default: groups',
    key: 'sign_in.groups_claim',
    multiple: true,
  },
  'sign-in-claims-from': {
    value: 'SOURCE',
    help: 'Where claims come from; default: id_token',
    key: 'sign_in.claims_from',
    choices: ['id_token', 'userinfo'],
  },
  'sign-in-provider-name': {
    value: 'NAME',
    help: "Provider's name on the button; default: host of the issuer",
    key: 'sign_in.provider_name',
  },
  'sign-in-refresh': {
    value: 'SPAN',
    help: 'How often the provider is asked whether a person may still sign in; default: 5m',
    key: 'sign_in.refresh',
    kind: 'span',
  },
  'sign-in-idle': {
    value: 'SPAN',
    help: 'A sign-in ends after this time without use; default: 1h',
    key: 'sign_in.idle',
    kind: 'span',
  },
  'sign-in-lifetime': {
    value: 'SPAN',
    help: 'A sign-in ends after this time in any case; default: 12h',
    key: 'sign_in.lifetime',
    kind: 'span',
  },
  'sign-in-without-refresh': {
    value: 'SPAN',
    help: 'Lifetime if the provider gives no refresh token; default: 1h',
    key: 'sign_in.without_refresh',
    kind: 'span',
  },
  'sign-in-clock-tolerance': {
    value: 'SPAN',
    help: 'Accepted difference between the clocks; default: 30s',
    key: 'sign_in.clock_tolerance',
    kind: 'span',
  },
};

/** Sign-in gives roles to people, so all of it needs proof. */
export const signInSettings: Settings = Object.fromEntries(
  Object.entries(asked).map(([name, setting]) => [name, { ...setting, needsProof: true }]),
);

/** The options of sign-in; undefined if none is set. */
export function readSignIn(given: Given, env: Environment): SignInOptions | undefined {
  const set = Object.keys(signInSettings).filter((name) => given.has(name));
  if (set.length === 0) return undefined;
  const need = (name: string): string => {
    const found = given.text(name);
    if (found !== undefined) return found;
    throw new UsageError(`Sign-in needs --${name}, or ${signInSettings[name]?.key ?? name} in the file.`, [
      `quittance serve --sign-in-issuer https://login.example.org --sign-in-client-id quittance --sign-in-roles '[{"group":"approvers","role":"approver"}]'`,
    ]);
  };
  const span = (name: string): number | undefined => {
    const found = given.text(name);
    return found === undefined ? undefined : parseSpan(found, name);
  };
  const groups = given.list('sign-in-groups-claim');
  const options = {
    clientSecret: readSecret(given, env),
    clientAuth: given.text('sign-in-client-auth'),
    scopes: given.has('sign-in-scopes') ? given.list('sign-in-scopes') : undefined,
    prompt: given.text('sign-in-prompt'),
    groupsClaim: groups.length === 0 ? undefined : groups,
    claimsFrom: given.text('sign-in-claims-from'),
    providerName: given.text('sign-in-provider-name'),
    refreshMs: span('sign-in-refresh'),
    idleMs: span('sign-in-idle'),
    lifetimeMs: span('sign-in-lifetime'),
    withoutRefreshMs: span('sign-in-without-refresh'),
    clockToleranceMs: span('sign-in-clock-tolerance'),
  };
  return {
    issuer: need('sign-in-issuer'),
    clientId: need('sign-in-client-id'),
    roles: readRoles(need('sign-in-roles')),
    ...(Object.fromEntries(
      Object.entries(options).filter(([, value]) => value !== undefined),
    ) as Partial<SignInOptions>), // the choices of the settings are those of the options
  };
}

/** The schema of the setting has checked it. */
function readRoles(json: string): readonly RoleRule[] {
  const read = parseJson(json);
  if (!read.ok || !Array.isArray(read.value)) return [];
  return read.value.filter(isJsonObject) as unknown as readonly RoleRule[];
}

function readSecret(given: Given, env: Environment): string | undefined {
  const path = given.text('sign-in-client-secret-file');
  if (path === undefined) return env[signInSecretVariable] || undefined;
  needFile(path, 'quittance serve --sign-in-client-secret-file /run/secrets/quittance');
  const secret = readFileSync(path, 'utf8').trim();
  if (secret !== '') return secret;
  throw new UsageError(`${path} is empty. It must hold the secret of this server at the provider.`, [
    'quittance help serve',
  ]);
}
