/** The format of one field of an event on disk. */
import type { JsonValue } from '../../../base/json.ts';

export type Field = {
  /** Its permanent name on disk. */
  readonly name: string;
  /** In the chained text, or in the body, which may be erased. */
  readonly where: 'text' | 'body';
  /** If absent, the field is left out of the event; otherwise it is undefined. */
  readonly optional?: true;
  /** The meaning of its absence. This value is not written. */
  readonly absent?: JsonValue;
  /**
   * The value to use once the body is erased. `of` names the variant of its holder that has it; `by` is the name of
   * the field that distinguishes variants (default `type`).
   */
  readonly erased?: { readonly value: JsonValue; readonly of?: string; readonly by?: string };
  /**
   * Names inside an object, or in each object of a list, if they differ. All of it is in the same part as the field.
   */
  readonly inside?: Names;
  /** The reverse: from the names on disk. */
  readonly outside?: Names;
  /** The fields of an object of which some may be erased. The other settings of this field apply to the text. */
  readonly fields?: FieldTable;
  /** The same for each object of a list. */
  readonly items?: FieldTable;
};

export type Names = { readonly [name: string]: string };
export type FieldTable = { readonly [name: string]: Field };

/** Replaces an erased text. */
export const ERASED = '[ERASED]';

type Rest = Omit<Field, 'name' | 'where' | 'outside'>;

export const text = (name: string, rest?: Rest): Field => toField(name, 'text', rest);
export const body = (name: string, rest?: Rest): Field => toField(name, 'body', rest);

const toField = (name: string, where: Field['where'], rest: Rest = {}): Field => ({
  name,
  where,
  ...rest,
  ...(rest.inside && { outside: invert(rest.inside) }),
});

const invert = (names: Names): Names =>
  Object.fromEntries(Object.entries(names).map(([name, onDisk]) => [onDisk, name]));
