import { expect, test } from 'vitest';
import { cutForDisplay, readCut } from './cut-for-display.ts';

test('a cut text says so, and the display can detect it', () => {
  expect(cutForDisplay('short', 10)).toBe('short');
  expect(readCut('short')).toBeUndefined();
  const cut = cutForDisplay('x'.repeat(50), 10);
  expect(cut).toBe('xxxxxxxxx…\n[only 10 of 50 characters are shown]');
  expect(readCut(cut)).toEqual({ shown: 10, of: 50 });
});
