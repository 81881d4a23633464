import type { JsonValue } from '../base/json.ts';

/** Values that JSON omits from an object, and turns into null in an array. */
type Dropped = undefined | symbol | ((...args: never) => unknown);

/** True for `any`, which would otherwise pass through every condition below. */
type IsAny<Value> = 0 extends 1 & Value ? true : false;

/**
 * The type of a value after `JSON.stringify` and `JSON.parse`: dates become strings, functions and undefined are
 * dropped, `toJSON` gives its return type. Literals and branded primitives stay the same.
 */
export type Jsonified<Value> =
  IsAny<Value> extends true
    ? JsonValue
    : unknown extends Value
      ? JsonValue
      : [Value] extends [JsonValue] // stays the same; recursive types stop here too
        ? Value
        : JsonifiedKnown<Value>;

type JsonifiedKnown<Value> = Value extends { toJSON(...args: never): infer Shown }
  ? Jsonified<Shown>
  : Value extends string | number | boolean | null
    ? Value
    : Value extends Dropped | bigint
      ? never
      : Value extends readonly unknown[]
        ? { [Index in keyof Value]: JsonifiedElement<Value[Index]> }
        : Value extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
          ? never // rejected rather than emptied
          : Value extends object
            ? JsonifiedObject<Value>
            : never;

type JsonifiedElement<Value> =
  IsAny<Value> extends true
    ? JsonValue
    : unknown extends Value
      ? JsonValue
      : Jsonified<Exclude<Value, Dropped>> | (Extract<Value, Dropped> extends never ? never : null);

type JsonifiedObject<Value extends object> = Flat<
  {
    [Key in keyof Value as KeptAlways<Key, Value[Key]>]: Jsonified<Value[Key]>;
  } & {
    [Key in keyof Value as KeptSometimes<Key, Value[Key]>]?: Jsonified<Exclude<Value[Key], Dropped>>;
  }
>;

type Flat<Value> = { [Key in keyof Value]: Value[Key] };

/** A key whose value JSON always keeps. */
type KeptAlways<Key, Value> = Key extends string | number
  ? IsAny<Value> extends true
    ? never
    : unknown extends Value
      ? never
      : Extract<Value, Dropped> extends never
        ? Key
        : never
  : never;

/** A key whose value JSON may drop: optional afterwards. */
type KeptSometimes<Key, Value> = Key extends string | number
  ? KeptAlways<Key, Value> extends never
    ? IsAny<Value> extends true
      ? Key
      : [Exclude<Value, Dropped>] extends [never]
        ? never
        : Key
    : never
  : never;
