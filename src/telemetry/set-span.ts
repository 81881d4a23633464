/**
 * A context with another active span. It answers like the one that `trace.setSpan` makes, which copies all values into a
 * new map. Most contexts are only asked for their span, so this one copies when a value is set.
 */
import type { Context, Span } from '@opentelemetry/api';

type SetSpan = (from: Context, span: Span) => Context;

/** A `trace.setSpan` whose contexts copy nothing until a value is set. */
export function createSetSpan(setSpan: SetSpan, anySpan: Span): SetSpan {
  const spanKey = findSpanKey(setSpan, anySpan);
  if (spanKey === undefined) return setSpan;
  class WithSpan implements Context {
    readonly #from: Context;
    readonly #span: Span;

    constructor(from: Context, span: Span) {
      this.#from = from;
      this.#span = span;
    }

    getValue(key: symbol): unknown {
      return key === spanKey ? this.#span : this.#from.getValue(key);
    }

    setValue(key: symbol, value: unknown): Context {
      return setSpan(this.#from, this.#span).setValue(key, value);
    }

    deleteValue(key: symbol): Context {
      return setSpan(this.#from, this.#span).deleteValue(key);
    }
  }
  return (from, span) => new WithSpan(from, span);
}

/** The package does not export the key of the span in a context, but a context receives it. */
function findSpanKey(setSpan: SetSpan, anySpan: Span): symbol | undefined {
  let found: symbol | undefined;
  const asked: Context = {
    getValue: () => undefined,
    setValue: (key) => {
      found = key;
      return asked;
    },
    deleteValue: () => asked,
  };
  setSpan(asked, anySpan);
  return found;
}
