/** Reads the outputs of LangChain tools and writes tool messages. */
import { isJsonObject } from 'quittance/internal/base/json';
import { ToolError } from 'quittance/internal/call/tool-error';
import type { ToolContext } from 'quittance/internal/tool/tool-context';
import type { Answer, AnswerFile } from '@quittance/adapter-kit/internal/answer/answer';

export type BodyOutput = { readonly output: unknown; readonly artifact: unknown };

/** The output of a tool, in any of the framework's formats. */
export async function readToolOutput(
  given: unknown,
  tool: { readonly [key: string]: unknown },
  context: ToolContext,
): Promise<BodyOutput> {
  let value: unknown;
  try {
    value = await lastOf(await given);
  } catch (error) {
    throw isInterrupt(error) ? refuseInterrupt(context, error) : (readMcpError(error) ?? error);
  }
  if (isMarked(value, 'lg_name', 'Command')) throw refuseCommand(context);
  if (isMarked(value, 'lc_direct_tool_output', true)) {
    const { content, artifact, status } = value;
    if (status === 'error') throw new ToolError('tool.reported_error', toText(content));
    return { output: keepFiles(content, context), artifact };
  }
  if (tool['responseFormat'] !== 'content_and_artifact')
    return { output: keepFiles(value, context), artifact: undefined };
  if (!Array.isArray(value) || value.length !== 2)
    throw new ToolError(
      'tool.invalid_output',
      'The tool declares content and an artifact as its result, but did not return a list of these two.',
    );
  const [content, artifact] = value as [unknown, unknown];
  return { output: keepFiles(content, context), artifact };
}

/** The framework's MCP client throws if a server reports an error. The tool then knows what it did. */
function readMcpError(error: unknown): ToolError | undefined {
  if (!(error instanceof Error) || error.name !== 'ToolException') return undefined;
  const [, said] = /^MCP tool '.*?' on server '.*?' returned an error: (.*)$/s.exec(error.message) ?? [];
  return said === undefined
    ? undefined
    : new ToolError('tool.reported_error', said || 'The MCP server reported an error without a text.', {
        cause: error,
      });
}

/** A tool may stream its progress. It must not be shown before it is judged, so only the return value counts. */
async function lastOf(given: unknown): Promise<unknown> {
  if (typeof given !== 'object' || given === null || !(Symbol.asyncIterator in given)) return given;
  if (!('next' in given) || typeof given.next !== 'function') return given;
  const running = given as AsyncGenerator<unknown, unknown>; // the framework's own check
  try {
    for (;;) {
      const { done, value } = await running.next();
      if (done === true) return value;
    }
  } finally {
    await running.return?.(undefined);
  }
}

/** Does a framework object identify itself as this type? */
export function isMarked(
  value: unknown,
  key: string,
  mark: unknown,
): value is { readonly [key: string]: unknown; readonly content: unknown } {
  return (
    typeof value === 'object' &&
    value !== null &&
    key in value &&
    (value as Record<string, unknown>)[key] === mark
  );
}

export const isInterrupt = (error: unknown): boolean =>
  error instanceof Error && 'is_bubble_up' in error && error.is_bubble_up === true;

const refuseInterrupt = ({ toolName }: ToolContext, cause: unknown): ToolError =>
  new ToolError(
    'tool.execution_error',
    `The tool "${toolName}" called interrupt(), which would run it from its start a second time. Ask ` +
      'for approval before a tool runs: name it in interruptOn, or have a rule ask.',
    {
      retryable: false,
      cause,
      problem: `The tool "${toolName}" tried to wait for an answer while it was running, which is not possible.`,
    },
  );

const refuseCommand = ({ toolName }: ToolContext): ToolError =>
  new ToolError(
    'tool.invalid_output',
    `The tool "${toolName}" returned a Command, which controls the graph and is not an output. ` +
      `Control it from a node, or pass the tool through: governTools(tools, { ungoverned: ["${toolName}"] ` +
      '}).',
    { problem: `The tool "${toolName}" returned an instruction for the agent instead of an output.` },
  );

const toText = (content: unknown): string =>
  typeof content === 'string' ? content : (JSON.stringify(content) ?? String(content));

/** Stores base64 content blocks as artifacts, with a name in their place. */
function keepFiles(content: unknown, context: ToolContext): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((block: unknown) => {
    const file = readFile(block);
    if (file === undefined) return block;
    const bytes = Buffer.from(file.data, 'base64');
    return { type: file.type, ...context.attach({ mimeType: file.mimeType, content: bytes }) };
  });
}

type File = { readonly type: string; readonly mimeType: string; readonly data: string };

function readFile(block: unknown): File | undefined {
  if (!isJsonObject(block)) return undefined;
  const { type, image_url: image, data } = block;
  if (type === 'image_url') {
    const url: unknown = isJsonObject(image) ? image['url'] : image;
    const [, mimeType, base64] = (typeof url === 'string' && /^data:([^;,]+);base64,(.*)$/s.exec(url)) || [];
    return mimeType === undefined || base64 === undefined
      ? undefined
      : { type: 'image', mimeType, data: base64 };
  }
  // In the formats of version 1 of the framework and of earlier versions.
  const mimeType = block['mimeType'] ?? block['mime_type'];
  if (typeof type !== 'string' || typeof mimeType !== 'string' || typeof data !== 'string') return undefined;
  return ['image', 'audio', 'video', 'file'].includes(type) ? { type, mimeType, data } : undefined;
}

/** The content for the model: the tabled content, then additional facts, as separate parts. */
export function toContent({ content, note, files }: Answer): unknown {
  if (note === undefined && files.length === 0) return content;
  return [
    { type: 'text', text: content },
    ...(note === undefined ? [] : [{ type: 'text', text: note }]),
    ...files.map(toBlock),
  ];
}

function toBlock({ mimeType, name, content }: AnswerFile): object {
  const data = Buffer.from(content as string).toString('base64'); // accepts both text and bytes
  return mimeType.startsWith('image/')
    ? { type: 'image_url', image_url: { url: `data:${mimeType};base64,${data}` } }
    : { type: 'file', mimeType, data, ...(name !== undefined && { metadata: { filename: name } }) };
}
