/** Opens what tells callers apart: tokens, logins of browsers, and sign-ins. */
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { createSeal } from 'quittance/internal/ledger/seal';
import type { AccessOptions } from './access.ts';
import { Access } from './access.ts';
import type { HttpServerOptions } from './http-server-options.ts';
import { LedgerTokens } from './ledger-tokens.ts';
import { Devices } from './sign-in/devices.ts';
import { openSignInContent } from './sign-in/open-sign-in-content.ts';
import { OpenIdProvider } from './sign-in/openid-provider.ts';
import { checkSignInOptions } from './sign-in/sign-in-options.ts';
import { SignIns } from './sign-in/sign-ins.ts';
import type { Tokens } from 'quittance/internal/runtime/tokens';
import { TokenFile, tokenFilePath } from './token-file.ts';

/** A caller is known by a token, a browser login or a sign-in. */
export function openAccess(
  { ledger, publicUrl }: HttpServerOptions,
  {
    port,
    ...known
  }: Pick<AccessOptions, 'tokens' | 'signIns' | 'local' | 'hosts'> & { readonly port: () => number },
): Access {
  const secure = /^https:/i.test(publicUrl ?? '');
  return new Access({
    ...known,
    cookieName: () => `${secure ? '__Host-' : ''}quittance${cookieSuffix(publicUrl, port())}`,
    secure,
    now: () => ledger.now(),
  });
}

/** Tokens are next to the file of the ledger, in its database, or in this process. */
export function openTokenStore(ledger: OpenLedger, path: string | undefined): Tokens {
  const now = (): number => ledger.now();
  return path === undefined && ledger.documents !== undefined
    ? new LedgerTokens(ledger.documents, now)
    : new TokenFile(path === undefined ? undefined : tokenFilePath(path), now);
}

/** Sign-ins are where tokens are. */
export function openSignIns(
  { ledger, signIn, onError = () => undefined }: HttpServerOptions,
  path: string | undefined,
): { readonly signIns: SignIns; readonly devices: Devices } | undefined {
  if (signIn === undefined) return undefined;
  const settings = checkSignInOptions(signIn);
  const now = (): number => ledger.now();
  const seal = createSeal(ledger.sealKey);
  const content = openSignInContent(ledger, path);
  content.check();
  const provider = new OpenIdProvider(settings);
  const signIns = new SignIns({ content, settings, provider, seal, now, onError });
  return { signIns, devices: new Devices({ content, signIns, seal, now }) };
}

/**
 * Cookies ignore ports, so two servers on one machine need different names. Servers behind one public address share
 * the name, whatever port each listens on.
 */
function cookieSuffix(publicUrl: string | undefined, port: number): string {
  if (publicUrl === undefined) return `-${port}`;
  const { port: shown } = new URL(publicUrl);
  return shown === '' ? '' : `-${shown}`;
}
