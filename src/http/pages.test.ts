import { Script } from 'node:vm';
import { expect, test } from 'vitest';
import { decideScript, loginScript } from './pages.ts';

test('the scripts of pages are valid, and contain the source of the functions that mark texts', () => {
  for (const script of [decideScript, loginScript]) expect(() => new Script(script)).not.toThrow();
  // A reference to code outside of these functions would fail in the page only.
  expect(decideScript).not.toMatch(/__vite|__vi_|import_/);
});
