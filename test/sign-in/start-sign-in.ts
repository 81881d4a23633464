/** A server with sign-in, and the provider that it trusts. */
import type { HttpServerOptions, SignInOptions } from '@quittance/server';
import type { ManualClock } from 'quittance/testing';
import type { TestServer } from '../http/start-server.ts';
import { startServer } from '../http/start-server.ts';
import type { TestProvider } from './test-provider.ts';
import { startProvider } from './test-provider.ts';

export type SignInStage = {
  readonly provider: TestProvider;
  readonly app: TestServer;
  readonly url: string;
  /** Errors in the log of the server. */
  readonly log: readonly unknown[];
  close(): Promise<void>;
};

export const signInOptions = (provider: TestProvider): SignInOptions => ({
  issuer: provider.issuer,
  clientId: provider.clientId,
  clientSecret: provider.clientSecret,
  scopes: ['openid', 'profile', 'groups'],
  providerName: 'Example Login',
  roles: [
    { group: 'admins', role: 'admin' },
    { group: 'payments', role: 'approver' },
    { subject: 'u-olga', role: 'operator' },
    { group: 'staff', role: 'viewer' },
  ],
});

export async function startSignIn(
  options: Partial<HttpServerOptions> = {},
  clock?: ManualClock,
): Promise<SignInStage> {
  const provider = await startProvider();
  const log: unknown[] = [];
  for (const [subject, name, ...groups] of [
    ['u-ada', 'Ada Lovelace', 'payments', 'staff'],
    ['u-bob', 'Bob Noyce', 'payments'],
    ['u-root', 'Rosa Root', 'admins'],
    ['u-olga', 'Olga Operator'],
    ['u-eve', 'Eve <b>Outside</b>', 'marketing'],
  ] as const)
    provider.people.set(subject, { name, groups });
  const app = await startServer(
    {
      signIn: { ...signInOptions(provider), ...options.signIn },
      onError: (error) => log.push(error),
      ...options,
      limits: { signInRate: { perSecond: 1_000, burst: 1_000 }, ...options.limits },
    },
    clock,
  );
  provider.serve(app.server.url);
  return {
    provider,
    app,
    url: app.server.url,
    log,
    async close() {
      await app.close();
      await provider.close();
    },
  };
}
