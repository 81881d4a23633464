/** The internal definition of a zod 3 schema. */
import { isJsonObject } from '../base/json.ts';

/** Zod 3's data about a schema; its members depend on `typeName`. */
export type Zod3Def = Readonly<Record<string, unknown>> & { readonly typeName: string };

type Zod3Like = {
  readonly _def: Zod3Def;
  readonly safeParseAsync: (value: unknown) => PromiseLike<unknown>;
};

/** A schema of zod 3, with or without the Standard Schema interface, which came with 3.24. */
export function isZod3(value: unknown): value is Zod3Like {
  if (typeof value !== 'object' || value === null || '_zod' in value) return false;
  if (!('safeParseAsync' in value) || typeof value.safeParseAsync !== 'function') return false;
  return readDef(value) !== undefined;
}

export function readDef(schema: unknown): Zod3Def | undefined {
  if (typeof schema !== 'object' || schema === null || !('_def' in schema)) return undefined;
  const def: unknown = schema._def;
  return isJsonObject(def) && typeof def['typeName'] === 'string' ? (def as Zod3Def) : undefined;
}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
