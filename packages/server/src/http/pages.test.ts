import { createContext, Script } from 'node:vm';
import { expect, test } from 'vitest';
import { decideScript, loginScript } from './pages.ts';

test('the scripts of pages are valid, and contain the source of the functions that mark texts', () => {
  for (const script of [decideScript, loginScript]) expect(() => new Script(script)).not.toThrow();
  // A reference to code outside of these functions would fail in the page only.
  expect(decideScript).not.toMatch(/__vite|__vi_|import_/);
});

/** Runs the page to which a login leads, with this text after the #. */
async function openLogin(
  hash: string,
  answer: () => Promise<{ readonly status: number }>,
): Promise<{ readonly to: string; readonly stored: readonly string[] }> {
  const stored: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  const page = {
    URL,
    URLSearchParams,
    location: { hash, origin: 'https://quittance.test', replace: resolve },
    localStorage: { setItem: (_: string, value: string) => stored.push(value) },
    fetch: (path: string, { headers }: { readonly headers: object }) => {
      expect([path, headers]).toEqual(['/v1/me', { 'x-quittance-page-key': 'qs_key.1' }]);
      return answer();
    },
  };
  new Script(loginScript).runInContext(createContext(page));
  return { to: await promise, stored };
}
const signedIn = () => Promise.resolve({ status: 200 });

test.each([
  ['', '/'],
  ['/calls?search=a', '/calls?search=a'],
  ['/.//evil.test', '//evil.test'],
  ['/..//evil.test/x', '//evil.test/x'],
])('a login leads to the page %j of this origin', async (to, page) => {
  const { to: opened } = await openLogin(`#page-key=qs_key.1&to=${encodeURIComponent(to || '/')}`, signedIn);
  expect(opened).toBe(`https://quittance.test${page}`);
});

test.each(['//evil.test', String.raw`/\evil.test`, 'https://evil.test/', 'javascript:alert(1)', 'http://['])(
  'a login does not lead to %s',
  async (to) => {
    const { to: opened } = await openLogin(`#page-key=qs_key.1&to=${encodeURIComponent(to)}`, signedIn);
    expect(opened).toBe('/');
  },
);

test('a login stores its page key, unless the key does not belong to the cookie of this browser', async () => {
  expect((await openLogin('#page-key=qs_key.1', signedIn)).stored).toEqual(['qs_key.1']);
  const unreachable = () => Promise.reject(new TypeError('fetch failed'));
  expect((await openLogin('#page-key=qs_key.1', unreachable)).stored).toEqual(['qs_key.1']);
  expect((await openLogin('#page-key=qs_key.1', () => Promise.resolve({ status: 401 }))).stored).toEqual([]);
  expect((await openLogin('#page-key=<b>', signedIn)).stored).toEqual([]);
});
