/**
 * JSON Schema for schemas of zod 3, which cannot produce it themselves. Many framework tools still use zod 3. A part
 * that JSON Schema cannot express is left open: the schema itself judges the value.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, toJson } from '../base/json.ts';
import { type Zod3Def, readDef, listOf } from './zod3-def.ts';

/** Deeper schemas are left open. Only a recursive schema that creates new parts forever gets there. */
const deepest = 64;

/** The schema as JSON Schema 2020-12. */
export function zod3ToJsonSchema(schema: unknown, what: 'input' | 'output'): JsonObject {
  const writer = new Writer(what);
  const written = writer.write(schema, 0);
  const definitions = writer.definitions();
  return definitions === undefined ? written : { ...written, $defs: definitions };
}

class Writer {
  readonly #what: 'input' | 'output';
  readonly #names = new Map<unknown, string>();
  readonly #definitions: Record<string, JsonObject> = {};

  constructor(what: 'input' | 'output') {
    this.#what = what;
  }

  definitions(): JsonObject | undefined {
    return this.#names.size === 0 ? undefined : this.#definitions;
  }

  write(schema: unknown, depth: number): JsonObject {
    const def = readDef(schema);
    if (def === undefined || depth > deepest) return {};
    const written = def.typeName === 'ZodLazy' ? this.#writeLazy(schema, def, depth) : this.#body(def, depth);
    const description = def['description'];
    return typeof description === 'string' ? { ...written, description } : written;
  }

  #writeLazy(schema: unknown, def: Zod3Def, depth: number): JsonObject {
    const known = this.#names.get(schema);
    const name = known ?? `schema${this.#names.size + 1}`;
    if (known === undefined) {
      this.#names.set(schema, name);
      this.#definitions[name] = this.write(call(def['getter']), depth + 1);
    }
    return { $ref: `#/$defs/${name}` };
  }

  #body(def: Zod3Def, depth: number): JsonObject {
    const inner = (key: string): JsonObject => this.write(def[key], depth + 1);
    const all = (given: unknown): JsonObject[] => listOf(given).map((one) => this.write(one, depth + 1));
    switch (def.typeName) {
      case 'ZodString':
        return { type: 'string', ...writeZod3Checks(def, stringCheck) };
      case 'ZodNumber':
        return { type: 'number', ...writeZod3Checks(def, numberCheck) };
      case 'ZodBoolean':
        return { type: 'boolean' };
      case 'ZodNull':
        return { type: 'null' };
      case 'ZodNever':
        return { not: {} };
      case 'ZodLiteral':
        return enumOf([def['value']]);
      case 'ZodEnum':
        return enumOf(listOf(def['values']));
      case 'ZodNativeEnum':
        return enumOf(nativeValues(def['values']));
      case 'ZodObject':
        return this.#writeObject(def, depth);
      case 'ZodRecord':
        return { type: 'object', additionalProperties: inner('valueType') };
      case 'ZodArray':
        return { type: 'array', items: inner('type'), ...arrayLimits(def) };
      case 'ZodTuple': {
        const items = all(def['items']);
        const rest = readDef(def['rest']) === undefined ? { items: false } : { items: inner('rest') };
        return { type: 'array', prefixItems: items, minItems: items.length, ...rest };
      }
      case 'ZodUnion':
        return { anyOf: all(def['options']) };
      case 'ZodDiscriminatedUnion': {
        const options = def['options'];
        return { anyOf: all(options instanceof Map ? [...options.values()] : options) };
      }
      case 'ZodIntersection':
        return { allOf: [inner('left'), inner('right')] };
      case 'ZodNullable':
        return { anyOf: [inner('innerType'), { type: 'null' }] };
      case 'ZodDefault': {
        const value = jsonOf(call(def['defaultValue']));
        return { ...inner('innerType'), ...(value !== undefined && { default: value }) };
      }
      case 'ZodOptional':
      case 'ZodReadonly':
      case 'ZodCatch':
        return inner('innerType');
      case 'ZodBranded':
        return inner('type');
      case 'ZodPipeline':
        return inner(this.#what === 'input' ? 'in' : 'out');
      case 'ZodEffects': {
        const effect = def['effect'];
        const transforms = isJsonObject(effect) && effect['type'] === 'transform';
        return transforms && this.#what === 'output' ? {} : inner('schema');
      }
      default:
        return {};
    }
  }

  #writeObject(def: Zod3Def, depth: number): JsonObject {
    const shape: unknown = call(def['shape']);
    const properties: Record<string, JsonObject> = {};
    const required: string[] = [];
    for (const [name, schema] of Object.entries(isJsonObject(shape) ? shape : {})) {
      const value = { value: this.write(schema, depth + 1), enumerable: true, configurable: true };
      Object.defineProperty(properties, name, value);
      if (!mayBeMissing(schema, this.#what)) required.push(name);
    }
    const catchall = readDef(def['catchall']);
    const others =
      catchall !== undefined && catchall.typeName !== 'ZodNever'
        ? { additionalProperties: this.write(def['catchall'], depth + 1) }
        : def['unknownKeys'] === 'strict'
          ? { additionalProperties: false }
          : {};
    return { type: 'object', properties, ...(required.length > 0 && { required }), ...others };
  }
}

/** May an object lack the member of this schema? */
export function mayBeMissing(schema: unknown, what: 'input' | 'output', depth = 0): boolean {
  const def = readDef(schema);
  if (def === undefined || depth > deepest) return true;
  const through = (key: string): boolean => mayBeMissing(def[key], what, depth + 1);
  switch (def.typeName) {
    case 'ZodOptional':
    case 'ZodUndefined':
    case 'ZodVoid':
    case 'ZodAny':
    case 'ZodUnknown':
      return true;
    case 'ZodDefault':
    case 'ZodCatch':
      return what === 'input';
    case 'ZodNullable':
    case 'ZodReadonly':
      return through('innerType');
    case 'ZodBranded':
      return through('type');
    case 'ZodEffects':
      return through('schema');
    case 'ZodPipeline':
      return through('in');
    case 'ZodLazy':
      return mayBeMissing(call(def['getter']), what, depth + 1);
    case 'ZodUnion':
      return listOf(def['options']).some((option) => mayBeMissing(option, what, depth + 1));
    default:
      return false;
  }
}

/** A literal that JSON cannot express, such as a bigint, leaves the whole open. */
function enumOf(values: readonly unknown[]): JsonObject {
  const written = values.map(jsonOf);
  return written.every((value) => value !== undefined) ? { enum: written } : {};
}

/** The values of a TypeScript enum. Numeric ones also list their names as values. */
function nativeValues(given: unknown): readonly unknown[] {
  if (!isJsonObject(given)) return [];
  return Object.entries(given).flatMap(([name, value]) =>
    typeof value === 'string' && given[value] === Number(name) ? [] : [value],
  );
}

function call(method: unknown): unknown {
  try {
    return typeof method === 'function' ? (method as () => unknown)() : undefined;
  } catch {
    return undefined;
  }
}

function jsonOf(value: unknown): JsonValue | undefined {
  if (value === undefined || typeof value === 'bigint') return undefined;
  const json = toJson(value);
  return json.ok ? json.value : undefined;
}

/** The checks of zod 3 strings, numbers and arrays as JSON Schema. */

type Check = JsonObject & { readonly kind: string };

function writeZod3Checks(def: Zod3Def, write: (check: Check) => JsonObject): JsonObject {
  const written: JsonObject = {};
  for (const check of listOf(def['checks']))
    if (isJsonObject(check) && typeof check['kind'] === 'string')
      Object.assign(written, write(check as Check));
  return written;
}

function stringCheck({ kind, value, regex }: Check): JsonObject {
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

function numberCheck({ kind, value, inclusive }: Check): JsonObject {
  if (kind === 'int') return { type: 'integer' };
  if (typeof value !== 'number' || !Number.isFinite(value)) return {};
  if (kind === 'min') return inclusive === false ? { exclusiveMinimum: value } : { minimum: value };
  if (kind === 'max') return inclusive === false ? { exclusiveMaximum: value } : { maximum: value };
  return kind === 'multipleOf' ? { multipleOf: value } : {};
}

function arrayLimits(def: Zod3Def): JsonObject {
  const limit = (key: string): number | undefined => {
    const found = def[key];
    return isJsonObject(found) && typeof found['value'] === 'number' ? found['value'] : undefined;
  };
  const exact = limit('exactLength');
  const least = limit('minLength') ?? exact;
  const most = limit('maxLength') ?? exact;
  return { ...(least !== undefined && { minItems: least }), ...(most !== undefined && { maxItems: most }) };
}
