/**
 * A context with another active span. It answers like the one that `trace.setSpan` makes, which copies all values into a
 * new map. Most contexts are only asked for their span, so this one copies when a value is set.
 */
import type { Context, Span } from '@opentelemetry/api';

type SetSpan = (from: Context, span: Span) => Context;

/** A `trace.setSpan` whose contexts copy nothing until a value is set. */
export function createSetSpan(setSpan: SetSpan, anySpan: Span): SetSpan {
  const key = findSpanKey(setSpan, anySpan);
  return key === undefined ? setSpan : (from, span) => new WithSpan(from, span, key, setSpan);
}

/** The package does not export the key of the span in a context, but a context is told it. */
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

class WithSpan implements Context {
  readonly #from: Context;
  readonly #span: Span;
  readonly #key: symbol;
  readonly #setSpan: SetSpan;

  constructor(from: Context, span: Span, key: symbol, setSpan: SetSpan) {
    this.#from = from;
    this.#span = span;
    this.#key = key;
    this.#setSpan = setSpan;
  }

  getValue(key: symbol): unknown {
    return key === this.#key ? this.#span : this.#from.getValue(key);
  }

  setValue(key: symbol, value: unknown): Context {
    return this.#setSpan(this.#from, this.#span).setValue(key, value);
  }

  deleteValue(key: symbol): Context {
    return this.#setSpan(this.#from, this.#span).deleteValue(key);
  }
}
