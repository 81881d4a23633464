/** The key `oauth` of a server: a client that was registered by hand at the issuer of the server. */
import type { ConfigDocument, ConfigPath, ConfigTable } from './config-document.ts';
import type { OAuthSetting } from '@quittance/server/internal/mcp-reviews/server-entry';

export const oauthKeys = ['grant', 'clientId', 'clientSecretVariable', 'issuer', 'scope'] as const;

/** As it is written: the secret is in a variable of the environment. */
export type WrittenOAuth = Omit<OAuthSetting, 'clientSecret'> & { readonly clientSecretVariable?: string };

export function readOAuth(document: ConfigDocument, path: ConfigPath, table: ConfigTable): WrittenOAuth {
  const { grant = 'authorization_code' } = table;
  if (grant !== 'authorization_code' && grant !== 'client_credentials')
    throw document.problem(
      [...path, 'grant'],
      'is not a grant.',
      'Use authorization_code or client_credentials.',
    );
  const texts: Partial<Record<Exclude<(typeof oauthKeys)[number], 'grant'>, string>> = {};
  for (const key of oauthKeys) {
    const value = table[key];
    if (key === 'grant' || value === undefined) continue;
    if (typeof value !== 'string' || value === '')
      throw document.problem([...path, key], 'is not a text.', 'Write a text in quotes.');
    texts[key] = value;
  }
  const needs = (key: keyof typeof texts, why: string): void => {
    if (texts[key] === undefined) throw document.problem(path, `needs "${key}".`, why);
  };
  if (grant === 'client_credentials') {
    needs('clientId', 'Register a client at the issuer.');
    needs('clientSecretVariable', 'Name the variable of the environment that holds the secret.');
  }
  if (texts.clientSecretVariable !== undefined) {
    needs('clientId', 'A secret belongs to a client.');
    needs('issuer', 'The secret is sent to this issuer only.');
  }
  return { grant, ...texts };
}

export function findOAuthSecret(
  { clientSecretVariable: name, ...setting }: WrittenOAuth,
  env: Readonly<Record<string, string | undefined>>,
  problem: (found: string, remedy: string) => Error,
): OAuthSetting {
  if (name === undefined) return setting;
  const clientSecret = env[name];
  if (clientSecret === undefined || clientSecret === '')
    throw problem(`needs the environment variable ${name}, which is not set.`, `Set ${name}.`);
  return { ...setting, clientSecret };
}
