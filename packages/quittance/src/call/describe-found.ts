/** Describes an unexpected value for a message. Text is never quoted: it may contain a secret. */
export function describeFound(value: unknown): string {
  switch (typeof value) {
    case 'undefined':
      return 'nothing';
    case 'string':
      return value === '' ? 'empty text' : `text of ${value.length} characters`;
    case 'boolean':
    case 'number':
      return `${typeof value} ${value}`;
    case 'object':
      if (value === null) return 'null';
      return isArray(value) ? 'an array' : 'an object';
    case 'bigint':
    case 'symbol':
    case 'function':
      return `a ${typeof value}`;
  }
}

function isArray(value: object): boolean {
  try {
    return Array.isArray(value);
  } catch {
    return false; // a revoked proxy
  }
}
