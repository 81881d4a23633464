import { expect, test } from 'vitest';
import { isQuittanceError, QuittanceError } from '../../base/error.ts';
import { isBusy, isReadOnly } from './database.ts';
import { fromThreadError, toThreadError } from './thread-error.ts';

const pass = (error: unknown): Error => fromThreadError(structuredClone(toThreadError(error)));

test('our own errors keep their code, facts and cause', () => {
  const cause = new Error('disk I/O error');
  const error = pass(new QuittanceError('ledger.unavailable', 'It was moved.', { path: '/l.db' }, cause));
  expect(isQuittanceError(error, 'ledger.unavailable')).toBe(true);
  expect(error).toMatchObject({
    message: 'It was moved.',
    facts: { path: '/l.db' },
    cause: { message: cause.message },
  });
});

const [readOnly, busySnapshot] = [8, 517];

test('errors of SQLite keep the code by which they are recognized', () => {
  const make = (errcode: number): Error =>
    Object.assign(new Error('refused'), { code: 'ERR_SQLITE_ERROR', errcode });
  expect(isBusy(pass(make(busySnapshot)))).toBe(true);
  expect(isReadOnly(pass(make(readOnly)))).toBe(true);
});

test('a programming error stays one, and anything else that was thrown becomes an error', () => {
  expect(pass(new TypeError('no'))).toBeInstanceOf(TypeError);
  expect(pass('text')).toMatchObject({ message: 'text' });
});
