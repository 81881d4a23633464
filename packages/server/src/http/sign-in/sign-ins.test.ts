import { expect, it } from 'vitest';
import { createSeal } from 'quittance/internal/ledger/seal';
import { ContentFile } from '../content-file.ts';
import type { Person } from 'quittance/internal/runtime/tokens';
import type { Provider } from './provider.ts';
import { signInFormat } from 'quittance/internal/runtime/tokens';
import { checkSignInOptions } from './sign-in-options.ts';
import { SignIns } from './sign-ins.ts';

const provider: Provider = {
  start: () => Promise.reject(new Error('not asked')),
  finish: () => Promise.reject(new Error('not asked')),
  renew: () => Promise.reject(new Error('not asked')),
  endSessionUrl: () => Promise.resolve(undefined),
  revoke: () => Promise.resolve(),
  readLogoutToken: () => Promise.reject(new Error('not asked')),
};

it('a provider ends sign-ins of its own people only, although two providers share a subject', async () => {
  const content = new ContentFile(undefined, signInFormat);
  const serverOf = (issuer: string): SignIns =>
    new SignIns({
      content,
      provider,
      settings: checkSignInOptions({
        issuer,
        clientId: 'quittance',
        roles: [{ group: 'g', role: 'viewer' }],
      }),
      seal: createSeal(new Uint8Array(32)),
      now: () => 1_000,
      onError: () => undefined,
    });
  const [one, other] = [serverOf('https://one.example'), serverOf('https://other.example')];
  const ada = (issuer: string): Person => ({
    issuer,
    subject: 'ada',
    name: 'Ada',
    aliases: [],
    groups: ['g'],
  });
  for (const [signIns, issuer] of [
    [one, 'https://one.example'],
    [other, 'https://other.example'],
  ] as const)
    await signIns.open('browser', {
      person: ada(issuer),
      tokens: { idToken: 'i', refreshToken: 'r' },
      providerSession: undefined,
    });
  const claims = { tokenId: 't', subject: 'ada', providerSession: undefined, rememberMs: 1_000 };
  expect(await other.endByProvider(claims)).toBe(true);
  expect([one.list().length, other.list().length]).toEqual([1, 0]);
  expect(one.knownPerson('https://one.example', 'ada')?.role).toBe('viewer');
});
