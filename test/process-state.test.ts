import { expect, test } from 'vitest';
import { restoreProcess } from './process-state.ts';

const changed = 'QUITTANCE_TEST_CHANGED';

test('changes of the environment are undone', () => {
  const { TMPDIR } = process.env;
  process.env['TMPDIR'] = '/nowhere';
  process.env[changed] = 'yes';
  restoreProcess();
  expect(process.env['TMPDIR']).toBe(TMPDIR);
  expect(changed in process.env).toBe(false);
  delete process.env['PATH'];
  restoreProcess();
  expect(process.env['PATH']).not.toBe(undefined);
});

test('a replaced and a removed global are back', () => {
  const { Response: original, fetch: originalFetch } = globalThis;
  Object.defineProperty(globalThis, 'Response', { value: class {}, configurable: true });
  Reflect.deleteProperty(globalThis, 'fetch');
  restoreProcess();
  expect(Response).toBe(original);
  expect(fetch).toBe(originalFetch);
});

test('a new global stays, and is kept from then on', () => {
  Object.defineProperty(globalThis, changed, { value: 1, configurable: true });
  restoreProcess();
  Object.defineProperty(globalThis, changed, { value: 2, configurable: true });
  restoreProcess();
  expect(Reflect.get(globalThis, changed)).toBe(1);
  Reflect.deleteProperty(globalThis, changed);
});
