import { describe, expect, it } from 'vitest';
import { directOf, isSameIdentity, isSameName, isSpelledAlike, namesOf } from './same-identity.ts';

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
    ['Michał Nowak', 'michal.nowak'],
    ['Søren Ærø', 'soren aero'],
    ['Đorđe Þór', 'dorde por'],
    ['Groß', 'GROSS'],
    ['Ħal', 'hal'],
    ['Νίκος.Π', 'ΝΙΚΟΣ.Π'], // a final sigma
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

  it('an identity of a provider has its name, its other names, its subject and its issuer with the subject', () => {
    const provider = { kind: 'provider', issuer: 'https://id', subject: 's', method: 'oidc' } as const;
    expect(namesOf(provider)).toEqual(['s', 'https://id#s']);
    expect(namesOf({ ...provider, name: 'Ada', aliases: ['ada@example.com', 'alovelace'] })).toEqual([
      'Ada',
      'ada@example.com',
      'alovelace',
      's',
      'https://id#s',
    ]);
  });

  it('an identity of a token has its name and its owner', () => {
    const token = { kind: 'token', id: 't', name: 'laptop', via: 'bearer' } as const;
    expect(namesOf(token)).toEqual(['laptop']);
    expect(namesOf({ ...token, person: 'ada' })).toEqual(['laptop', 'ada']);
  });

  it('an identity of a user of the system is one person by the id, and by the name only without an id', () => {
    const user = { kind: 'os_user', user: 'ada' } as const;
    expect(isSameIdentity({ ...user, uid: 1 }, { kind: 'os_user', user: 'eve', uid: 1 })).toBe(true);
    expect(isSameIdentity({ ...user, uid: 1 }, { ...user, uid: 2 })).toBe(false);
    expect(isSameIdentity({ ...user, uid: 1 }, user)).toBe(true);
    expect(isSameIdentity(user, { kind: 'os_user', user: 'eve' })).toBe(false);
  });

  it('an identity of a link has the direct identities of its maker and of its signed-in user', () => {
    const [ada, eve] = ['ada', 'eve'].map((user) => ({ kind: 'os_user', user }) as const);
    if (ada === undefined || eve === undefined) throw new Error('two users');
    const maker = { kind: 'person', name: 'Ada', identity: ada } as const;
    expect(directOf({ kind: 'link', maker, holder: { kind: 'signed_in', identity: eve } })).toEqual([
      ada,
      eve,
    ]);
    expect(directOf({ kind: 'link', maker: { kind: 'service' }, holder: { kind: 'named' } })).toEqual([]);
    expect(namesOf({ kind: 'link', maker, holder: { kind: 'signed_in', identity: eve } })).toEqual([
      'Ada',
      'ada',
      'eve',
    ]);
  });

  it('an identity of a link includes its maker and its user', () => {
    expect(
      namesOf({
        kind: 'link',
        maker: { kind: 'person', name: 'ada', identity: { kind: 'os_user', user: 'al' } },
        holder: { kind: 'typed', name: 'bob' },
      }),
    ).toEqual(['ada', 'al', 'bob']);
  });
});

it('a name is spelled alike if only case, outer spaces and compatibility forms differ', () => {
  expect(isSpelledAlike(' Ada', 'ａDA ')).toBe(true);
  expect(isSpelledAlike('ada', 'аda')).toBe(false); // Cyrillic a
  expect(isSpelledAlike('jose', 'josé')).toBe(false);
});
