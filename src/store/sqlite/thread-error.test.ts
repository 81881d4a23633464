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

test('errors of SQLite keep the code by which they are recognized', () => {
  const make = (code: string): Error => Object.assign(new Error('refused'), { name: 'SqliteError', code });
  expect(isBusy(pass(make('SQLITE_BUSY_SNAPSHOT')))).toBe(true);
  expect(isReadOnly(pass(make('SQLITE_READONLY')))).toBe(true);
});

test('a programming error stays one, and anything else that was thrown becomes an error', () => {
  expect(pass(new TypeError('no'))).toBeInstanceOf(TypeError);
  expect(pass('text')).toMatchObject({ message: 'text' });
});
