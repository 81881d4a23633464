/** The value of an environment variable; undefined if it is not set. */
export type ReadVariable = (name: string) => string | undefined;
