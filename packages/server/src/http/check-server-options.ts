/** Checks the options of a server that need neither a ledger nor the network. Throws `config.invalid`. */
import { QuittanceError } from 'quittance/internal/base/error';
import type { ConsoleOptions } from './console-options.ts';
import { readConsoleOptions } from './console-options.ts';
import { createIsProxy } from './read-address.ts';
import type { SignInOptions } from './sign-in/sign-in-options.ts';
import { checkSignInOptions } from './sign-in/sign-in-options.ts';
import { checkTokenName } from 'quittance/internal/runtime/tokens';
import { checkTraceUrl } from './trace-url.ts';

/** A part of the options of `createHttpServer`. */
export type CheckedOptions = {
  readonly allowHosts?: readonly string[];
  readonly publicUrl?: string;
  readonly trustProxies?: readonly string[];
  readonly traceUrl?: string;
  readonly localName?: string;
  readonly signIn?: SignInOptions;
  readonly console?: ConsoleOptions;
};

export function checkServerOptions(options: CheckedOptions): void {
  checkNames(options);
  checkTraceUrl(options.traceUrl);
  if (options.localName !== undefined) checkTokenName(options.localName);
  createIsProxy({ proxies: options.trustProxies ?? [] });
  if (options.signIn !== undefined) checkSignInOptions(options.signIn);
  readConsoleOptions(options.console);
}

/** With a wrong name, the server would refuse every request, and the reason would be hard to find. */
function checkNames({ allowHosts = [], publicUrl }: CheckedOptions): void {
  if (publicUrl !== undefined) {
    const { protocol, host, href } = URL.parse(publicUrl) ?? {};
    if (!/^https?:$/.test(protocol ?? '') || href !== `${protocol}//${host}/`)
      throw new QuittanceError(
        'config.invalid',
        `The public URL must be an address such as https://quittance.example.org, without a path; found ${JSON.stringify(publicUrl)}.`,
      );
  }
  for (const name of allowHosts)
    if (URL.parse(`http://${name}`)?.pathname !== '/' || /[\s/\\?#@]/.test(name))
      throw new QuittanceError(
        'config.invalid',
        `A host to answer under must be a name such as quittance.example.org or 10.0.0.5:8080; found ${JSON.stringify(name)}.`,
      );
}
