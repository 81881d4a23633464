/** The common parts of all kinds of cases: data from a file, and the result of running it. */

/** A map as YAML gives it. */
export type Data = { readonly [key: string]: unknown };

export type Case = {
  readonly id: string;
  readonly data: Data;
  /** Its whole file, which also contains the documents that cases name. */
  readonly file: Data;
};

/** The problems of a case, in words; empty if it passes. */
export type Problems = readonly string[];

export const isData = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The map under a key; empty if it is missing. */
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

/** Does the text contain the other, ignoring case? */
export const holds = (text: string | undefined, part: string): boolean =>
  text !== undefined && text.toLowerCase().includes(part.toLowerCase());

/** A case may only expect properties that the runner checks. */
export const unknownKeys = (expected: Data, known: readonly string[], what: string): Problems =>
  Object.keys(expected)
    .filter((key) => !known.includes(key))
    .map((key) => `${what} has "${key}", which this runner cannot check; it supports ${known.join(', ')}`);
