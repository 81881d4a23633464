import { describe, expectTypeOf, test } from 'vitest';
import type { Call, Confirmation, Settled } from './call.ts';
import type { ToolStarted } from './event.ts';

describe('a call, by its status', () => {
  test('has an outcome only when settled', () => {
    expectTypeOf<Extract<Call, { status: 'settled' }>['settled']>().toEqualTypeOf<Settled>();
    expectTypeOf<Exclude<Call, { status: 'settled' }>['settled']>().toEqualTypeOf<undefined>();
  });

  test('has an intent while it runs, and a question while it is held', () => {
    expectTypeOf<Extract<Call, { status: 'running' }>['started']>().toEqualTypeOf<ToolStarted>();
    expectTypeOf<
      Extract<Call, { status: 'requested' | 'held' | 'approved' }>['started']
    >().toEqualTypeOf<undefined>();
    expectTypeOf<Extract<Call, { status: 'held' }>['confirmation']>().toEqualTypeOf<Confirmation>();
    expectTypeOf<
      Extract<Call, { status: 'approved' }>['confirmation']['status']
    >().toEqualTypeOf<'approved'>();
  });
});

describe('a question, by its status', () => {
  test('has a response only if a person answered the model', () => {
    expectTypeOf<Extract<Confirmation, { status: 'answered' }>['response']>().toEqualTypeOf<string>();
    expectTypeOf<Exclude<Confirmation, { status: 'answered' }>['response']>().toEqualTypeOf<undefined>();
  });

  test('has no decision while it is pending', () => {
    expectTypeOf<Extract<Confirmation, { status: 'pending' }>['decision']>().toEqualTypeOf<undefined>();
  });
});
