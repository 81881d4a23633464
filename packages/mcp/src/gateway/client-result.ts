/**
 * Results of tools as clients accept them. A client takes a result that it cannot read for a failed call, and the model
 * then repeats an effect. So a part that breaks the protocol is passed on as text.
 */
import { isSpecType } from '@modelcontextprotocol/client';
import type { Era, Fields } from './relayed-request.ts';
import { isFields, toFieldsList } from './relayed-request.ts';

/** Of a long file only the beginning is looked at. A multiple of four, as in base64. */
const mostChecked = 65_536;

export function toClientResult(result: Fields, era: Era): Fields {
  const { content, structuredContent, ...rest } = result;
  if (!Array.isArray(content)) return result;
  const parts = toFieldsList(content).map((part) =>
    isPlainText(part) || isPart(part) ? part : toText(part),
  );
  // Before 2026-07-28, structured content was an object.
  const isReadable = structuredContent === undefined || era === 'modern' || isFields(structuredContent);
  if (isReadable)
    return { ...rest, content: parts, ...(structuredContent !== undefined && { structuredContent }) };
  return { ...rest, content: parts.length === 0 ? [toText(structuredContent)] : parts };
}

const toText = (value: unknown): Fields => ({ type: 'text', text: JSON.stringify(value) });

/** Most parts are, and checking them by a schema takes long. */
const isPlainText = (part: Fields): boolean =>
  part['type'] === 'text' && typeof part['text'] === 'string' && Object.keys(part).length === 2;

const cut = (data: unknown): unknown => (typeof data === 'string' ? data.slice(0, mostChecked) : data);

function isPart({ data, resource, ...part }: Fields): boolean {
  return isSpecType.ContentBlock({
    ...part,
    ...(data !== undefined && { data: cut(data) }),
    ...(resource !== undefined && {
      resource:
        isFields(resource) && 'blob' in resource ? { ...resource, blob: cut(resource['blob']) } : resource,
    }),
  });
}
