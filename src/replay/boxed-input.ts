import type { JsonValue } from '../base/json.ts';
import type { CompiledSchema } from '../tool/schema.ts';

/** The schema's output together with its input, because recordings are found by the request. */
class Boxed {
  readonly json: JsonValue;
  readonly executed: unknown;

  constructor(json: JsonValue, executed: unknown) {
    this.json = json;
    this.executed = executed;
  }
}

export const jsonOf = (args: unknown): JsonValue => (args instanceof Boxed ? args.json : null);
export const unboxInput = (args: unknown): unknown => (args instanceof Boxed ? args.executed : args);

/** The same schema, with boxed outputs. */
export const boxedInputs = (schema: CompiledSchema): CompiledSchema => ({
  ...schema,
  wrap: (accepted, value) => new Boxed(accepted, value),
});
