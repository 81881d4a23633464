/** The checks of zod 3 strings, numbers and arrays as JSON Schema. */
import type { JsonObject } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import { type Zod3Def, listOf } from './zod3-def.ts';

type Check = JsonObject & { readonly kind: string };

export function writeZod3Checks(def: Zod3Def, write: (check: Check) => JsonObject): JsonObject {
  const written: JsonObject = {};
  for (const check of listOf(def['checks']))
    if (isJsonObject(check) && typeof check['kind'] === 'string')
      Object.assign(written, write(check as Check));
  return written;
}

export function stringCheck({ kind, value, regex }: Check): JsonObject {
  const size = typeof value === 'number' ? value : 0;
  if (kind === 'min') return { minLength: size };
  if (kind === 'max') return { maxLength: size };
  if (kind === 'length') return { minLength: size, maxLength: size };
  if (kind === 'email' || kind === 'uuid' || kind === 'date') return { format: kind };
  if (kind === 'url') return { format: 'uri' };
  if (kind === 'datetime') return { format: 'date-time' };
  // JSON Schema has no flags.
  const pattern: unknown = regex;
  return kind === 'regex' && pattern instanceof RegExp && pattern.flags === ''
    ? { pattern: pattern.source }
    : {};
}

export function numberCheck({ kind, value, inclusive }: Check): JsonObject {
  if (kind === 'int') return { type: 'integer' };
  if (typeof value !== 'number' || !Number.isFinite(value)) return {};
  if (kind === 'min') return inclusive === false ? { exclusiveMinimum: value } : { minimum: value };
  if (kind === 'max') return inclusive === false ? { exclusiveMaximum: value } : { maximum: value };
  return kind === 'multipleOf' ? { multipleOf: value } : {};
}

export function arrayLimits(def: Zod3Def): JsonObject {
  const limit = (key: string): number | undefined => {
    const found = def[key];
    return isJsonObject(found) && typeof found['value'] === 'number' ? found['value'] : undefined;
  };
  const exact = limit('exactLength');
  const least = limit('minLength') ?? exact;
  const most = limit('maxLength') ?? exact;
  return { ...(least !== undefined && { minItems: least }), ...(most !== undefined && { maxItems: most }) };
}
