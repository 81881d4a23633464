import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readJsonText } from '../base/json.ts';
import { reasonCodes, reasonOf } from './reason.ts';
import type { ReasonCode } from './reason.ts';
import { bodyMayClaim, isToolError, ToolError } from './tool-error.ts';

describe('a ToolError', () => {
  test('gives the reason, whether to retry, and the extras', () => {
    const cause = new Error('ECONNRESET');
    const error = new ToolError('tool.network_error', 'The bank did not answer.', {
      extras: { host: 'bank' },
      cause,
    });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'ToolError',
      reason: 'tool.network_error',
      message: 'The bank did not answer.',
      retryable: true,
      payloadExtras: { host: 'bank' },
      cause,
    });
  });

  test.each(reasonCodes)('%s is retryable as its row says, unless the author says otherwise', (code) => {
    expect(new ToolError(code, 'x').retryable).toBe(reasonOf(code).retryable);
    expect(new ToolError(code, 'x', { retryable: !reasonOf(code).retryable }).retryable).toBe(
      !reasonOf(code).retryable,
    );
  });

  test('is marked retryable only by its author, never by default', () => {
    expect(new ToolError('tool.network_error', 'x').markedRetryable).toBe(false);
    expect(new ToolError('tool.network_error', 'x', { retryable: true }).markedRetryable).toBe(true);
    expect(new ToolError('tool.network_error', 'x', { retryable: false }).markedRetryable).toBe(false);
  });

  test('keeps extras under their own key, so that none overwrites anything', () => {
    const extras = { reason: 'forged', message: 'forged', retryable: false, name: 'forged', stack: 'forged' };
    const error = new ToolError('tool.execution_error', 'It broke.', { extras });
    expect(error.reason).toBe('tool.execution_error');
    expect(error.message).toBe('It broke.');
    expect(error.retryable).toBe(true);
    expect(error.payloadExtras).toEqual(extras);
  });

  test('leaves a note for an extra that JSON cannot hold, and keeps the others', () => {
    const loop: { self?: unknown } = {};
    loop.self = loop;
    const error = new ToolError('tool.execution_error', 'It broke.', {
      extras: {
        fine: [1, { two: 2 }],
        when: new Date(0),
        big: 10n,
        nested: { run: () => 1 },
        loop,
        gone: undefined,
        get secret(): string {
          throw new Error('boom');
        },
      },
    });
    expect(error.payloadExtras).toEqual({
      fine: [1, { two: 2 }],
      when: '1970-01-01T00:00:00.000Z',
      big: '[not stored: at $: a BigInt has no JSON form: pass it as a string]',
      nested: '[not stored: at $.run: a function has no JSON form]',
      loop: '[not stored: at $.self: a value that contains itself has no JSON form]',
      secret: '[not stored: reading it threw]',
    });
  });

  test('accepts any extras, and they are always JSON', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withMap: true, withNullPrototype: true }), (extras) => {
        const error = new ToolError('tool.execution_error', 'x', {
          extras: extras as Record<string, unknown>,
        });
        expect(readJsonText(JSON.stringify(error.payloadExtras))).toEqual(error.payloadExtras);
      }),
    );
    const hostile = new Proxy(
      {},
      {
        ownKeys() {
          throw new Error('boom');
        },
      },
    );
    expect(new ToolError('tool.execution_error', 'x', { extras: hostile }).payloadExtras).toEqual({
      not_kept: 'The extras could not be read.',
    });
  });

  test('keeps __proto__ among the extras as plain data', () => {
    const extras = JSON.parse('{"__proto__":{"polluted":true}}') as Record<string, unknown>;
    const { payloadExtras } = new ToolError('tool.execution_error', 'x', { extras });
    expect(Object.keys(payloadExtras)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(payloadExtras)).toBe(Object.prototype);
  });

  test('does not throw for an unknown reason, which would hide the original error', () => {
    const error = new ToolError('payment.declined' as ReasonCode, 'The card was declined.');
    expect(error).toMatchObject({ reason: 'payment.declined', retryable: true });
    expect(bodyMayClaim(error.reason)).toBe(false);
  });
});

describe('isToolError', () => {
  test('recognizes ours, a subclass, and one of another copy of the package', () => {
    class Declined extends ToolError {}
    expect(isToolError(new ToolError('tool.timeout', 'x'))).toBe(true);
    expect(isToolError(new Declined('tool.reported_error', 'x'))).toBe(true);
    const twin = Object.assign(new Error('x'), {
      reason: 'tool.timeout',
      retryable: true,
      payloadExtras: {},
      [Symbol.for('quittance.tool-error')]: true,
    });
    expect(isToolError(twin)).toBe(true);
  });

  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  test.each([
    ['a plain error', new Error('x')],
    [
      'a look-alike without the mark',
      { reason: 'tool.timeout', message: 'x', retryable: true, payloadExtras: {} },
    ],
    ['the mark without the fields', { [Symbol.for('quittance.tool-error')]: true }],
    ['a revoked proxy', proxy],
    ['null', null],
    ['text', 'tool.timeout'],
  ])('does not accept %s', (_, value) => {
    expect(isToolError(value)).toBe(false);
  });
});

test('a body may claim what a body can know, and no code of gates or people', () => {
  expect(reasonCodes.filter(bodyMayClaim)).toEqual([
    'tool.timeout',
    'tool.network_error',
    'tool.execution_error',
    'tool.reported_error',
    'tool.invalid_input',
    'tool.invalid_output',
    'tool.fixture_missing',
    'tool.indeterminate',
  ]);
  for (const other of ['toString', '', null, undefined, 7]) expect(bodyMayClaim(other)).toBe(false);
});
