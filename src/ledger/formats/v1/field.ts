/** How one field of an event stands on disk. */
import type { JsonValue } from '../../../base/json.ts';

export type Field = {
  /** Its name on disk, for ever. */
  readonly name: string;
  /** In the chained text, or in the body beside it, which may be erased. */
  readonly where: 'text' | 'body';
  /** Left out of what is read where it is not there; otherwise it is undefined. */
  readonly optional?: true;
  /** What its absence means. Such a value is not written. */
  readonly absent?: JsonValue;
  /**
   * What is read in its place once the body is erased; `of` the variants of its holder that have it, told apart by
   * the name `by`, which is `type` unless told.
   */
  readonly erased?: { readonly value: JsonValue; readonly of?: string; readonly by?: string };
  /** The names inside an object, or in each object of a list, where they differ. All of it stands where the field does. */
  readonly inside?: Names;
  /** The same, from the names on disk. */
  readonly outside?: Names;
  /** The fields of an object some of which may be erased and some not. The rest of this field is about the text. */
  readonly fields?: FieldTable;
  /** The same for each object of a list. */
  readonly items?: FieldTable;
};

export type Names = { readonly [name: string]: string };
export type FieldTable = { readonly [name: string]: Field };

/** What is read instead of a text that was erased. */
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
