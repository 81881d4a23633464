/** The types that JSON Schema distinguishes; an integer is a number. */
export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

/** The type of a value; undefined for one without a JSON type. */
export function jsonTypeOf(value: unknown): JsonType | undefined {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  switch (type) {
    case 'boolean':
    case 'number':
    case 'string':
    case 'object':
      return type;
    case 'undefined':
    case 'function':
    case 'symbol':
    case 'bigint':
      return undefined;
  }
}
