/** Refusals of the MCP endpoint as a resource server of OAuth 2.1, and its metadata (RFC 6750, RFC 9728). */
import type { OAuthRole } from './auth-role.ts';

/** Why a request is refused. `unavailable`: the token cannot be verified now. */
export type Refusal = 'missing' | 'invalid' | 'forbidden' | 'unavailable';

export type Resource = {
  /** Public address of the endpoint. */
  readonly url: string;
  readonly issuer: string | undefined;
  /** Scopes that a client can ask its issuer for. */
  readonly scopes: readonly string[];
};

const wellKnown = '/.well-known/oauth-protected-resource';

export const isMetadataPath = (path: string, endpoint: string): boolean =>
  path === wellKnown || path === `${wellKnown}${endpoint}`;

export const scopesOf = (roles: readonly OAuthRole[]): readonly string[] =>
  roles.flatMap(({ claim, value }) => (claim === 'scope' || claim === 'scp' ? [value] : []));

export function refuseBearer({ url, scopes }: Resource, refusal: Refusal): Response {
  const { origin, pathname } = new URL(url);
  const challenge = (error?: string): Record<string, string> => ({
    'www-authenticate': `Bearer ${[
      `resource_metadata="${origin}${wellKnown}${pathname}"`,
      ...(error === undefined ? [] : [`error="${error}"`]),
      ...(scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`]),
    ].join(', ')}`,
  });
  switch (refusal) {
    case 'missing':
      return answer(401, 'Unauthorized', challenge());
    case 'invalid':
      return answer(401, 'Unauthorized', challenge('invalid_token'));
    case 'forbidden':
      return answer(403, 'Forbidden', challenge('insufficient_scope'));
    case 'unavailable':
      return answer(503, 'The token cannot be verified now.', { 'retry-after': '5' });
  }
}

const answer = (status: number, message: string, headers: Record<string, string>): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } }, { status, headers });

/** Metadata of the endpoint as a resource server (RFC 9728). */
export const describeResource = ({ url, issuer, scopes }: Resource): Response =>
  Response.json({
    resource: url,
    resource_name: 'Quittance MCP gateway',
    bearer_methods_supported: ['header'],
    ...(issuer !== undefined && { authorization_servers: [issuer] }),
    ...(scopes.length > 0 && { scopes_supported: scopes }),
  });
