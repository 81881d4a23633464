import { describe, expect, it } from 'vitest';
import { isSameIdentity, isSameName, namesOf } from './same-identity.ts';

describe('two names of one person', () => {
  it.each([
    ['ada', 'ADA'],
    ['ada', ' ada '],
    ['Ada Lovelace', 'ada.lovelace'],
    ['ada', 'аda'], // Cyrillic a
    ['ada', 'ａｄａ'],
    ['ada', 'a\u200bda'],
    ['ada', 'a\u{e0061}da'],
    ['josé', 'jose'],
    ['ivan', 'lvan'],
    ['root', 'r00t'],
    ['Ραul', 'Paul'], // Greek rho and alpha
  ])('are %j and %j', (left, right) => {
    expect(isSameName(left, right)).toBe(true);
    expect(isSameName(right, left)).toBe(true);
  });

  it.each([
    ['ada', 'bob'],
    ['ada', 'adam'],
    ['user2', 'user3'],
    ['山田', '田山'],
    ['🙂', '🙃'],
    [undefined, 'ada'],
    ['ada', undefined],
  ])('are not %j and %j', (left, right) => {
    expect(isSameName(left, right)).toBe(false);
  });
});

describe('an identity', () => {
  it('is one person by their verified identity', () => {
    const token = { kind: 'token', id: 't', name: 'a', via: 'bearer' } as const;
    expect(isSameIdentity(token, { ...token, name: 'b', via: 'browser' })).toBe(true);
    expect(isSameIdentity(token, { ...token, id: 'u' })).toBe(false);
    const provider = { kind: 'provider', issuer: 'i', subject: 's', method: 'oidc' } as const;
    expect(isSameIdentity(provider, { ...provider, method: 'saml' })).toBe(true);
    expect(isSameIdentity(provider, { ...provider, issuer: 'j' })).toBe(false);
    expect(isSameIdentity(token, { kind: 'self_asserted' })).toBe(false);
    expect(isSameIdentity({ kind: 'self_asserted' }, { kind: 'self_asserted' })).toBe(false);
  });

  it('of a link includes its maker and its user', () => {
    expect(
      namesOf({
        kind: 'link',
        maker: { kind: 'person', name: 'ada', identity: { kind: 'os_user', user: 'al' } },
        holder: { kind: 'typed', name: 'bob' },
      }),
    ).toEqual(['ada', 'al', 'bob']);
  });
});
