import { expect, test } from 'vitest';
import { findEngine } from './run-sandboxed.ts';

test('a system other than Linux is refused with the remedy', () => {
  expect(() => findEngine('darwin')).toThrow(/needs Linux.*container or a virtual machine/);
});
