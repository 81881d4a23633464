/** Schemas by the names of their types, with the definitions they refer to. */
import type { JsonObject } from '../base/json.ts';
import { apiSchemas } from './api-schemas.ts';

/** The definitions that these values refer to, directly or through others. */
export function definitionsFor(...values: readonly unknown[]): JsonObject {
  const found = new Map<string, JsonObject>();
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      const schema = apiSchemas[name];
      if (schema === undefined || found.has(name)) continue;
      found.set(name, schema);
      visit(schema);
    }
  };
  for (const value of values) visit(value);
  return Object.fromEntries(found);
}

/** A schema that compiles on its own. */
export const standalone = (schema: JsonObject): JsonObject => ({
  ...schema,
  components: { schemas: definitionsFor(schema) },
});

export const schemaOf = (name: string): JsonObject => apiSchemas[name] ?? {};

/** The schemas of the fields of an object type. */
export const fieldsOf = (name: string | undefined): Readonly<Record<string, JsonObject>> =>
  name === undefined ? {} : (schemaOf(name)['properties'] as Readonly<Record<string, JsonObject>>);
