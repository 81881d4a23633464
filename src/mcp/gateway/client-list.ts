/**
 * Lists as clients accept them. A client rejects a whole list because of one entry that breaks the protocol. So such
 * an entry is mended or left out, and the entries of other servers stay.
 */
import { isSpecType } from '@modelcontextprotocol/client';
import type { Era, Fields } from './relayed-request.ts';
import { isFields, toFieldsList } from './relayed-request.ts';

const isEntry: Readonly<Record<string, (entry: unknown) => boolean>> = {
  tools: isSpecType.Tool,
  prompts: isSpecType.Prompt,
  resources: isSpecType.Resource,
  resourceTemplates: isSpecType.ResourceTemplate,
};

/** More entries of one page are left out. */
const mostEntries = 10_000;

/** `onLeftOut` receives the name of an entry that clients would not accept, e.g. a second one of the same name. */
export function toClientList(
  field: string,
  given: unknown,
  { era, onLeftOut }: { readonly era: Era; readonly onLeftOut: (name: string) => void },
): readonly Fields[] {
  const isValid = isEntry[field] ?? isFields;
  const seen = new Set<unknown>();
  return toFieldsList(Array.isArray(given) ? given.slice(0, mostEntries) : given).flatMap((entry) => {
    const mended = field === 'tools' ? toClientTool(entry, era) : entry;
    const key = entry['uri'] ?? entry['uriTemplate'] ?? entry['name'];
    const isNew = seen.size < seen.add(key).size;
    if (isNew && isValid(mended)) return [mended];
    onLeftOut(String(key));
    return [];
  });
}

/**
 * The gateway makes the tasks of legacy servers itself, so the client makes a plain call. An output that is not an
 * object exists only in the modern protocol.
 */
function toClientTool(listed: Fields, era: Era): Fields {
  const { inputSchema, outputSchema, execution: _, ...tool } = listed;
  const isPromised = isFields(outputSchema) && (era === 'modern' || outputSchema['type'] === 'object');
  return {
    ...tool,
    inputSchema: toClientSchema(isFields(inputSchema) ? inputSchema : {}, 'object'),
    ...(isPromised && { outputSchema: toClientSchema(outputSchema, outputSchema['type']) }),
  };
}

/** Older clients accept only objects as schemas of properties. A schema that they accept stays as it is. */
function toClientSchema(schema: Fields, type: unknown): Fields {
  const { properties, required, ...others } = schema;
  const isList = Array.isArray(required) && required.every((name) => typeof name === 'string');
  const isFine = isFields(properties) && Object.values(properties).every(isFields);
  if (schema['type'] === type && (isFine || properties === undefined) && (isList || required === undefined))
    return schema;
  return {
    ...others,
    ...(type !== undefined && { type }),
    ...(isFields(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, inner]) => [
          name,
          inner === false ? { not: {} } : isFields(inner) ? inner : {},
        ]),
      ),
    }),
    ...(isList && { required }),
  };
}
