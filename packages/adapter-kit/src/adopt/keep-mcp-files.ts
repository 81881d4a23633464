/**
 * Files in the results of MCP tools. They become artifacts, and the output holds their names in place of their data. A
 * picture is then stored once, and reaches the model as a picture.
 */
import { isJsonObject } from 'quittance/internal/base/json';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import type { ToolContext } from 'quittance/internal/tool/tool-context';
import type { AnswerFile } from '../answer/answer.ts';

type Attach = ToolContext['attach'];

/** A part of a result with its file set aside. Text of a resource is set aside above the limit. */
export function keepMcpPart(
  part: JsonValue,
  attach: Attach,
  textLimit: number = Number.POSITIVE_INFINITY,
): JsonValue {
  if (!isJsonObject(part)) return part;
  const { type, data, mimeType, resource } = part;
  if (type === 'image' || type === 'audio') {
    const file = attachData(data, { mimeType, name: undefined, textLimit }, attach);
    return file === undefined ? part : { ...part, data: file };
  }
  if (type !== 'resource' || !isJsonObject(resource)) return part;
  const { blob, text, uri, mimeType: resourceType } = resource;
  const name = typeof uri === 'string' ? uri : undefined;
  const file = attachData(blob, { mimeType: resourceType, name, textLimit }, attach);
  if (file !== undefined) return { ...part, resource: { ...resource, blob: file } };
  if (typeof text !== 'string' || text.length <= textLimit) return part;
  const long = attachFile(text, resourceType ?? 'text/plain', name, attach);
  return long === undefined ? part : { ...part, resource: { ...resource, text: long } };
}

/** A result of an MCP client with its files set aside. Every other value is returned as it is. */
export function keepMcpFiles(value: unknown, attach: Attach): unknown {
  if (!isResult(value)) return value;
  const content = value.content.map((part) => keepMcpPart(part, attach));
  return content.every((part, index) => part === value.content[index]) ? value : { ...value, content };
}

/** The result with its files in place again, for a function that expects it so. The files left over are returned too. */
export function fillMcpFiles(
  value: unknown,
  files: readonly AnswerFile[],
): { readonly value: unknown; readonly rest: readonly AnswerFile[] } {
  if (files.length === 0 || !isResult(value)) return { value, rest: files };
  const filled = new Set<AnswerFile>();
  const fill = (named: unknown): string | undefined => {
    const id = isJsonObject(named) ? named['$artifact'] : undefined;
    const file = files.find(({ artifactId }) => artifactId === id);
    if (file === undefined) return undefined;
    filled.add(file);
    return Buffer.from(file.content as Uint8Array).toString('base64'); // accepts both text and bytes
  };
  const content = value.content.map((part): JsonValue => {
    if (!isJsonObject(part)) return part;
    const data = fill(part['data']);
    if (data !== undefined) return { ...part, data };
    const { resource } = part;
    const blob = isJsonObject(resource) ? fill(resource['blob']) : undefined;
    return blob === undefined ? part : { ...part, resource: { ...(resource as JsonObject), blob } };
  });
  return { value: { ...value, content }, rest: files.filter((file) => !filled.has(file)) };
}

/** Every part of a result has a type. */
const isResult = (value: unknown): value is JsonObject & { readonly content: readonly JsonValue[] } =>
  isJsonObject(value) &&
  Array.isArray(value['content']) &&
  value['content'].every((part: unknown) => isJsonObject(part) && typeof part['type'] === 'string');

/**
 * Data that does not survive decoding stays as it is. Long data may have line breaks, no padding, or the alphabet for
 * URLs. Its bytes are the same without them.
 */
function attachData(
  data: JsonValue | undefined,
  {
    mimeType,
    name,
    textLimit,
  }: {
    readonly mimeType: JsonValue | undefined;
    readonly name: string | undefined;
    readonly textLimit: number;
  },
  attach: Attach,
): JsonObject | undefined {
  if (typeof data !== 'string' || data === '') return undefined;
  const bytes = Buffer.from(data, 'base64');
  const isSame =
    bytes.toString('base64') === data ||
    (data.length > textLimit && bytes.toString('base64url') === toUnpadded(data));
  return isSame ? attachFile(bytes, mimeType, name, attach) : undefined;
}

const toUnpadded = (data: string): string =>
  data
    .replaceAll(/\s/g, '')
    .replace(/={1,2}$/, '')
    .replaceAll('+', '-')
    .replaceAll('/', '_');

function attachFile(
  content: Uint8Array | string,
  mimeType: JsonValue | undefined,
  name: string | undefined,
  attach: Attach,
): JsonObject | undefined {
  try {
    return attach({
      mimeType: typeof mimeType === 'string' ? mimeType : 'application/octet-stream',
      content,
      ...(name !== undefined && { name }),
    });
  } catch {
    return undefined; // A call has a limited number of files. Further ones stay in the output.
  }
}
