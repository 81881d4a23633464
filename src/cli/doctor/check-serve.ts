/** Would `quittance serve` start with these settings, and can people sign in? */
import { isQuittanceError } from '../../base/error.ts';
import { ProviderError } from '../../http/sign-in/provider.ts';
import { checkSignInOptions } from '../../http/sign-in/sign-in-options.ts';
import type { Context, Given } from '../command.ts';
import { serveReaders } from '../serve/read-serve.ts';
import { readSignIn } from '../settings/sign-in-settings.ts';
import type { Environment } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';
import type { Finding } from './finding.ts';
import { fine, problem } from './finding.ts';

/** The names of the parts as people know them. */
const parts: { readonly [Name in keyof typeof serveReaders]: string } = {
  port: 'port',
  times: 'stop',
  rules: 'retention',
  everyMs: 'retention',
  notifications: 'notifications',
  tools: 'tools',
  server: 'server',
};

export function* checkServe(given: Given, from: Pick<Context, 'env' | 'userName'>): Generator<Finding> {
  for (const name of Object.keys(serveReaders) as (keyof typeof serveReaders)[])
    try {
      serveReaders[name](given, from);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      yield problem(
        parts[name],
        error.message,
        `Correct the setting, for example: ${error.tryThis[0] ?? ''}`,
      );
    }
}

/** Asks the identity provider for its description. Wrong options were reported before. */
export async function checkSignIn(given: Given, env: Environment): Promise<readonly Finding[]> {
  let settings: ReturnType<typeof checkSignInOptions>;
  try {
    const options = readSignIn(given, env);
    if (options === undefined) return [];
    settings = checkSignInOptions(options);
  } catch {
    return [];
  }
  const issuer = settings.issuer.href.replace(/\/$/, '');
  // Only servers with sign-in need it.
  const { OpenIdProvider } = await import('../../http/sign-in/openid-provider.ts');
  try {
    await new OpenIdProvider(settings).start(
      `${given.text('public-url') ?? 'http://127.0.0.1'}/login/callback`,
    );
    return [fine('sign-in', issuer)];
  } catch (error) {
    if (isQuittanceError(error, 'config.invalid'))
      return [problem('sign-in', error.message, 'npm install openid-client')];
    if (!(error instanceof ProviderError)) throw error;
    return [
      problem(
        'sign-in',
        `${issuer}: ${error.message} No person can sign in.`,
        `Check the address, the network and the certificate: curl ${issuer}/.well-known/openid-configuration`,
      ),
    ];
  }
}
