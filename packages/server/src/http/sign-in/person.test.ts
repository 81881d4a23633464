import { expect, it } from 'vitest';
import { toPerson } from './openid-provider.ts';

const read = (claims: Record<string, unknown>, path: readonly string[] = ['groups']) =>
  toPerson('https://id.example', 's-1', claims, path);

it('reads the groups only from a list of texts at the path', () => {
  const groups = (claims: Record<string, unknown>, path?: readonly string[]) => read(claims, path).groups;
  expect(groups({ groups: ['b', 'a', 'b'] })).toEqual(['a', 'b']);
  expect(groups({ access: { app: { roles: ['x'] } } }, ['access', 'app', 'roles'])).toEqual(['x']);
  for (const wrong of [
    undefined,
    'admins',
    { admins: true },
    [['admins']],
    ['admins', 7],
    ['admins', ''],
    Array.from({ length: 501 }, (_, index) => `g${index}`),
  ])
    expect([wrong, groups({ groups: wrong })]).toEqual([wrong, []]);
  expect(groups({}, ['__proto__', 'constructor'])).toEqual([]);
});

it('reads the e-mail address and the user name as other names of the person', () => {
  const { name, aliases } = read({
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    preferred_username: 'ada',
    upn: ['ada'],
  });
  expect([name, aliases]).toEqual(['Ada Lovelace', ['ada@example.com', 'ada']]);
  expect(read({ email: 'x'.repeat(321), preferred_username: ' ' }).aliases).toEqual([]);
});
