import type { Context, Span } from '@opentelemetry/api';
import { createContextKey, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { createSetSpan } from './open-telemetry.ts';

const spanOf = (digit: string): Span =>
  trace.wrapSpanContext({ traceId: digit.repeat(32), spanId: digit.repeat(16), traceFlags: 0 });
const [first, second] = [spanOf('1'), spanOf('2')];
const within = createSetSpan(trace.setSpan, first);
const other = createContextKey('other');

/** Everything that code can ask these contexts. */
const shown = (context: Context): readonly unknown[] => [
  trace.getSpan(context),
  context.getValue(other),
  propagation.getBaggage(context)?.getEntry('tenant')?.value,
];

const changes: Readonly<Record<string, (context: Context) => Context>> = {
  unchanged: (context) => context,
  'with a value': (context) => context.setValue(other, 'set'),
  'without a value': (context) => context.deleteValue(other),
  'with baggage': (context) =>
    propagation.setBaggage(context, propagation.createBaggage({ tenant: { value: 'a' } })),
  'with another span': (context) => trace.setSpan(context, second),
  'without its span': (context) => trace.deleteSpan(context),
  'with an inner one': (context) => within(context, second),
};
const parents: Readonly<Record<string, Context>> = {
  'an empty context': ROOT_CONTEXT,
  'a context with values': trace.setSpan(ROOT_CONTEXT.setValue(other, 'parent'), second),
};

describe('createSetSpan', () => {
  for (const [parentName, parent] of Object.entries(parents))
    it.each(Object.entries(changes))(`answers like trace.setSpan, in ${parentName}: %s`, (_, change) => {
      const context = within(parent, first);
      expect(shown(change(context))).toEqual(shown(change(trace.setSpan(parent, first))));
      // A change makes a new context.
      expect(shown(context)).toEqual(shown(trace.setSpan(parent, first)));
    });

  it('copies nothing until a value is set', () =>
    expect(within(ROOT_CONTEXT, first)).not.toBeInstanceOf(ROOT_CONTEXT.constructor));

  it('uses trace.setSpan if that does not tell the key', () => {
    const setSpan = (from: Context): Context => from;
    expect(createSetSpan(setSpan, first)).toBe(setSpan);
  });
});
