/**
 * What a request must be and what an answer is, as JSON Schema that is held against its TypeScript type: a field that is
 * missing here, or is optional in one and not in the other, does not compile. Requests are checked with these schemas
 * and the OpenAPI document is written from them.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { defineMember } from '../base/json.ts';

/** Where a schema that has a name is put: in place, or once, with a reference in its stead. */
export type Place = (shape: AnyShape) => JsonObject;

export type Shape<Value> = {
  /** What it is called in the OpenAPI document. */
  readonly name: string | undefined;
  readonly toSchema: (place: Place) => JsonObject;
  /** Where it is one of several. */
  readonly options?: readonly AnyShape[];
  /** Never there: says what the schema is of. */
  readonly value?: Value;
};
export type AnyShape = Shape<unknown>;

/** Of a field that may be left out. */
export type Maybe<Value> = { readonly maybe: Shape<Value> };

export type Fields<Value> = {
  readonly [Name in keyof Value]-?: undefined extends Value[Name]
    ? Maybe<Exclude<Value[Name], undefined>>
    : object extends Pick<Value, Name>
      ? Maybe<Exclude<Value[Name], undefined>>
      : Shape<Value[Name]>;
};
export type AnyFields = Readonly<Record<string, AnyShape | Maybe<unknown>>>;

const plain = <Value>(schema: JsonObject): Shape<Value> => ({ name: undefined, toSchema: () => schema });

export const text = (more: JsonObject = {}): Shape<string> => plain({ type: 'string', ...more });
/** The id of something that has an address: `.` and `..` would be taken for a way through it. */
export const idText = (): Shape<string> =>
  text({ minLength: 1, maxLength: 1_000, pattern: '^(?!\\.{1,2}$)' });
/** A name that stands on what is kept: what nobody sees in it could make two names look like one. */
export const nameText = (maxLength: number): Shape<string> =>
  text({ minLength: 1, maxLength, pattern: '^[^\\x00-\\x1f\\x7f-\\x9f\\ud800-\\udfff]+$' });
export const integer = (more: JsonObject = {}): Shape<number> => plain({ type: 'integer', ...more });
export const decimal = (more: JsonObject = {}): Shape<number> => plain({ type: 'number', ...more });
export const flag = (): Shape<boolean> => plain({ type: 'boolean' });
/** Milliseconds since 1970. */
export const moment = (): Shape<number> =>
  plain({ type: 'number', minimum: 0, description: 'Milliseconds since 1970.' });
export const anyJson = (): Shape<JsonValue> => plain({});
export const anyObject = (): Shape<JsonObject> => plain({ type: 'object' });

/** One of these words, and all of them: given as the keys of a table. */
export const choice = <Word extends string>(words: Readonly<Record<Word, unknown>>): Shape<Word> =>
  plain({ type: 'string', enum: Object.keys(words) });

export const only = <Word extends string | boolean>(word: Word): Shape<Word> => plain({ const: word });

export const list = <Item>(item: Shape<Item>, more: JsonObject = {}): Shape<readonly Item[]> => ({
  name: undefined,
  toSchema: (place) => ({ type: 'array', items: place(item), ...more }),
});

export const textsByName = (): Shape<Readonly<Record<string, string>>> =>
  plain({ type: 'object', additionalProperties: { type: 'string' } });

export const orNull = <Value>(shape: Shape<Value>): Shape<Value | null> => ({
  name: undefined,
  toSchema: (place) => ({ anyOf: [place(shape), { type: 'null' }] }),
});

export const maybe = <Value>(shape: Shape<Value>): Maybe<Value> => ({ maybe: shape });

/** An object with exactly these fields. */
export const object = <Value extends object>(fields: Fields<Value>, name?: string): Shape<Value> =>
  record(fields as AnyFields, name, { additionalProperties: false });

/** An object of which some fields are told, and that has more. */
export const open = <Value extends object>(
  name: string,
  description: string,
  fields: Partial<Fields<NoInfer<Value>>>,
): Shape<Value> => record(fields as AnyFields, name, { description });

function record<Value>(fields: AnyFields, name: string | undefined, more: JsonObject): Shape<Value> {
  return {
    name,
    toSchema(place) {
      const properties: { [field: string]: JsonValue } = {};
      const required: string[] = [];
      for (const [field, given] of Object.entries(fields)) {
        const isMaybe = 'maybe' in given;
        defineMember(properties, field, place(isMaybe ? given.maybe : given));
        if (!isMaybe) required.push(field);
      }
      return { type: 'object', properties, ...(required.length > 0 && { required }), ...more };
    },
  };
}

export const oneOf = <Value>(options: readonly Shape<Value>[], name?: string): Shape<Value> => ({
  name,
  options,
  toSchema: (place) => ({ anyOf: options.map(place) }),
});

/** The schema in one piece, to check with. */
export const wholeSchema = (shape: AnyShape): JsonObject => shape.toSchema(wholeSchema);
