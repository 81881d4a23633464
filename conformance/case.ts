/** What all kinds of cases have in common: data read from a file, and what came of running it. */

/** A map as YAML gives it. */
export type Data = { readonly [key: string]: unknown };

export type Case = {
  readonly id: string;
  readonly data: Data;
  /** The file it stands in, as a whole: documents that cases name are kept there. */
  readonly file: Data;
};

/** What a case found wrong, each in words; a case that passes finds nothing. */
export type Problems = readonly string[];

export const isData = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The map under a key; an empty one where there is none. */
export const dataAt = (holder: Data, key: string): Data => {
  const value = own(holder, key);
  return isData(value) ? value : {};
};

export const own = (holder: Data, key: string): unknown =>
  Object.hasOwn(holder, key) ? holder[key] : undefined;

export const textAt = (holder: Data, key: string): string | undefined => {
  const value = own(holder, key);
  return typeof value === 'string' ? value : undefined;
};

export const listAt = (holder: Data, key: string): readonly unknown[] => {
  const value = own(holder, key);
  return Array.isArray(value) ? value : [];
};

/** For reports: short, and on one line. */
export const show = (value: unknown): string =>
  value === undefined ? 'nothing' : (JSON.stringify(value) ?? typeof value);

/** Whether the text holds the other, whatever their case. */
export const holds = (text: string | undefined, part: string): boolean =>
  text !== undefined && text.toLowerCase().includes(part.toLowerCase());

/** A case may not expect what nobody looks at. */
export const unknownKeys = (expected: Data, known: readonly string[], what: string): Problems =>
  Object.keys(expected)
    .filter((key) => !known.includes(key))
    .map((key) => `${what} says "${key}", which this runner cannot check; it knows ${known.join(', ')}`);
