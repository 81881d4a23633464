/** Reads the outputs of OpenAI Agents JS tools and writes the content for the model. */
import { isJsonObject } from 'quittance/internal/base/json';
import type { ToolContext } from 'quittance/internal/tool/tool-context';
import type { Answer } from '@quittance/adapter-kit/internal/answer/answer';
import { toSingleText } from '@quittance/adapter-kit/internal/answer/outcome-error';

type Part = Readonly<Record<string, unknown>>;

/** Stores images and files in an output as artifacts. */
export function keepFiles(output: unknown, context: ToolContext): unknown {
  if (Array.isArray(output)) return output.map((part: unknown) => keepFile(part, context));
  return keepFile(output, context);
}

function keepFile(part: unknown, { attach }: ToolContext): unknown {
  const type = isJsonObject(part) ? part['type'] : undefined;
  if (!isJsonObject(part) || (type !== 'image' && type !== 'file')) return part;
  const file = readInline(part[type], type === 'image' ? 'image/png' : 'application/octet-stream');
  return file === undefined ? part : { ...part, [type]: attach(file) };
}

type InlineFile = { readonly mimeType: string; readonly content: Uint8Array; readonly name?: string };

function readInline(held: unknown, otherwise: string): InlineFile | undefined {
  if (typeof held === 'string') return readDataUrl(held);
  if (!isJsonObject(held)) return undefined;
  const { data, mediaType, filename } = held as Part;
  const mimeType = typeof mediaType === 'string' && mediaType !== '' ? mediaType : otherwise;
  const name = typeof filename === 'string' ? { name: filename } : {};
  if (data instanceof Uint8Array) return { mimeType, content: data, ...name };
  if (typeof data !== 'string') return undefined;
  return { ...(readDataUrl(data) ?? { mimeType, content: Buffer.from(data, 'base64') }), ...name };
}

function readDataUrl(text: string): InlineFile | undefined {
  const comma = text.startsWith('data:') ? text.indexOf(';base64,') : -1;
  if (comma === -1) return undefined;
  return {
    mimeType: text.slice('data:'.length, comma) || 'application/octet-stream',
    content: Buffer.from(text.slice(comma + ';base64,'.length), 'base64'),
  };
}

/**
 * The result of `invoke`: the tabled content as text, or parts that start with it. Never an object: the SDK would
 * interpret one with `type: 'text'`. Only the Responses API accepts two texts. For others the SDK concatenates them,
 * so there the note is part of the JSON.
 */
export function toToolOutput(
  { content, note, files, outcome }: Answer,
  itemId: unknown,
): string | readonly Part[] {
  const takesTexts = typeof itemId === 'string' && itemId.startsWith('fc_');
  const parts: Part[] = [
    ...(note === undefined || !takesTexts ? [] : [{ type: 'text', text: note }]),
    ...files.map(({ mimeType, name, artifactId, content: bytes }) => {
      const data = Buffer.from(bytes as Uint8Array).toString('base64'); // or text, which it also accepts
      return mimeType.startsWith('image/')
        ? { type: 'image', image: `data:${mimeType};base64,${data}` }
        : { type: 'file', file: { data, mediaType: mimeType, filename: name ?? artifactId } };
    }),
    ...(outcome.type === 'ToolExecutionResult' ? findReferences(outcome.output) : []),
  ];
  const text = takesTexts ? content : toSingleText(content, note);
  return parts.length === 0 ? text : [{ type: 'text', text }, ...parts];
}

/** Images and files that the model's provider fetches itself. Inside the content they would not be seen. */
const findReferences = (output: unknown): readonly Part[] =>
  (Array.isArray(output) ? (output as readonly unknown[]) : [output]).filter(isReference);

function isReference(part: unknown): part is Part {
  if (!isJsonObject(part)) return false;
  const { type } = part;
  const held = type === 'image' || type === 'file' ? part[type] : undefined;
  if (typeof held === 'string') return /^https?:/i.test(held);
  return isJsonObject(held) && ['url', 'fileId', 'id'].some((key) => typeof held[key] === 'string');
}
