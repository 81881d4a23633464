/**
 * `Mcp-Param-*` headers, which repeat arguments for the machines between a client and a server over HTTP. They are made
 * from the arguments that are sent: the client may have none (stdio), and the runtime may have coerced the client's.
 */
import type { Fields } from './relayed-request.ts';
import { isFields, toFields } from './relayed-request.ts';

const key = 'x-mcp-header';
const isToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const types: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
const deepest = 20;

/** The headers that the input schema of a tool declares, for arguments that are given. */
export function toParamHeaders(inputSchema: unknown, args: unknown): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const visit = (schema: Fields, value: unknown, depth: number): void => {
    const name = schema[key];
    if (depth > 0 && typeof name === 'string' && isToken.test(name) && types.has(schema['type'])) {
      const text = toText(value);
      if (text !== undefined) found[`Mcp-Param-${name}`] = encode(text);
    }
    if (depth === deepest || !isFields(value)) return;
    for (const [property, inner] of Object.entries(toFields(schema['properties'])))
      if (isFields(inner) && Object.hasOwn(value, property)) visit(inner, value[property], depth + 1);
  };
  visit(toFields(inputSchema), args, 0);
  return found;
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value);
  return undefined;
}

/** A text that a header cannot hold as it is, or that looks encoded, is sent in base64. */
function encode(text: string): string {
  const isPlain =
    /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return isPlain ? text : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;
}
