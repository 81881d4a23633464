/** Reads results of Claude Agent SDK tools as outputs, and writes answers in the format of the SDK. */
import { isJsonObject, parseJson, ownValue } from 'quittance/internal/base/json';
import type { ToolContext } from 'quittance/internal/tool/tool-context';
import type { Answer, AnswerFile } from '@quittance/adapter-kit/internal/answer/answer';

type TextPart = { type: 'text'; text: string };
type ImagePart = { type: 'image'; data: string; mimeType: string };

/** The answer to a request to call a tool. */
export type ClaudeAgentResult = { content: (TextPart | ImagePart)[]; isError?: boolean };

/**
 * The output in a result: its structured content, else its only content part, else all parts. Text that is a JSON
 * object or list is parsed, so that rules, schemas and redaction see its content. Files become artifacts.
 */
export function readResult(result: unknown, attach: ToolContext['attach']): unknown {
  const content = isJsonObject(result) ? ownValue(result, 'content') : undefined;
  // A reported failure is judged by the tool's own words.
  if (!isJsonObject(result) || !Array.isArray(content) || result['isError']) return result;
  const parts = content.map((part: unknown) => readPart(part, attach));
  const structured = ownValue(result, 'structuredContent');
  if (isJsonObject(structured)) return structured;
  return parts.length > 1 ? parts : (parts[0] ?? null);
}

function readPart(part: unknown, attach: ToolContext['attach']): unknown {
  if (!isJsonObject(part)) return part;
  const { type, text, data, mimeType, resource } = part;
  if (type === 'text' && typeof text === 'string') return readText(text);
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return attach({ mimeType: typeMade(mimeType), content: Buffer.from(data, 'base64') });
  if (type === 'resource' && isJsonObject(resource) && typeof resource['blob'] === 'string') {
    const { blob, uri, mimeType: blobType } = resource;
    const named = typeof uri === 'string' ? { name: uri } : {};
    return attach({ mimeType: typeMade(blobType), content: Buffer.from(blob, 'base64'), ...named });
  }
  return part;
}

const typeMade = (mimeType: unknown): string =>
  typeof mimeType === 'string' ? mimeType : 'application/octet-stream';

function readText(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return text;
  const json = parseJson(text);
  return json.ok ? json.value : text;
}

/** The content for the model: the tabled content first, then the note, then pictures. */
export function toResult({ content, note, files, isError }: Answer): ClaudeAgentResult {
  return {
    content: [
      { type: 'text', text: content },
      ...(note === undefined ? [] : [{ type: 'text', text: note } as const]),
      // Claude accepts only images, and only text for an error; other files are named in the content.
      ...(isError ? [] : files.flatMap((file) => toImage(file) ?? [])),
    ],
    ...(isError && { isError: true }),
  };
}

const imageTypes = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

function toImage({ mimeType, content }: AnswerFile): ImagePart | undefined {
  if (!imageTypes.has(mimeType)) return undefined;
  const data = Buffer.from(content as Uint8Array).toString('base64'); // accepts both text and bytes
  return { type: 'image', data, mimeType };
}
