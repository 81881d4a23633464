/**
 * The result of `tools/call` for each outcome. A success gets back what the server sent, with its files. Every other
 * outcome is an error with the text for the model, so that no client takes it for a success.
 */
import { isJsonObject, parseJson } from 'quittance/internal/base/json';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { attachedFilesOf } from 'quittance/internal/call/attached-files';
import { outcomeToModelContent } from 'quittance/internal/call/model-content';
import type { OutputFile, ToolOutcome } from 'quittance/internal/call/outcome';
import type { StoredArtifact } from 'quittance/internal/ledger/artifacts';
import { isAltered } from 'quittance/internal/runtime/stored-artifact';
import type { ArtifactSource, ReadArtifact } from './artifact-resource.ts';
import { toArtifactUri, toReadArtifact } from './artifact-resource.ts';
import type { ResultShape } from './read-call-tool-result.ts';
import { withoutOtherAnswers } from './read-call-tool-result.ts';

/** A tool result in the form that every version of the protocol shares. */
export type McpToolResult = {
  content: JsonObject[];
  structuredContent?: JsonValue;
  isError?: true;
  _meta?: JsonObject;
};

export type ToCallToolResultOptions = {
  /** Larger files become a link, in bytes. Default: 4 MiB. */
  readonly mediaLimit?: number;
  /** The shape of the outputs: of tools of an MCP server, or of a runtime's own. */
  readonly shape?: ResultShape;
  /**
   * Does the tool promise structured content? Default: no for the shape `value`, and yes for `result`, whose long
   * structured content is left out otherwise.
   */
  readonly isStructured?: boolean;
};

export const mcpMediaLimit: number = 4 * 1_048_576;

/** `source` is the ledger of the call, or a function that reads its artifacts. */
export async function toCallToolResult(
  source: ArtifactSource,
  sessionId: string,
  outcome: ToolOutcome,
  {
    mediaLimit = mcpMediaLimit,
    shape = 'result',
    isStructured = shape === 'result',
  }: ToCallToolResultOptions = {},
): Promise<McpToolResult> {
  const files = new Files(toReadArtifact(source), sessionId, filesOf(outcome), mediaLimit);
  const result = await toResult(outcome, files, shape, isStructured);
  if (outcome.modelNote !== undefined) result.content.push(toText(outcome.modelNote));
  return result;
}

async function toResult(
  outcome: ToolOutcome,
  files: Files,
  shape: ResultShape,
  isStructured: boolean,
): Promise<McpToolResult> {
  switch (outcome.type) {
    case 'ToolExecutionResult': {
      if (shape === 'result') return passOn(outcome.output, files);
      const { output } = outcome;
      return {
        content: [toText(wordsOf(output)), ...(await files.asParts())],
        ...(isStructured && { structuredContent: output }),
      };
    }
    case 'ToolArtifactReference': {
      const kept = await files.readJson(outcome.artifactId);
      const reference = toText(outcomeToModelContent(outcome));
      if (shape === 'value')
        return {
          content: [reference, ...(await files.asParts())],
          ...(isStructured && kept !== undefined && { structuredContent: kept }),
        };
      if (!isJsonObject(kept)) return { content: [reference] };
      // A client rejects a result without the structured content that the tool promises. Only text is left out.
      const { structuredContent: _, ...shown } = kept;
      const { content, ...rest } = await passOn(isStructured ? kept : shown, files);
      return { ...rest, content: [reference, ...content.filter(({ type }) => type !== 'text')] };
    }
    case 'ToolFailure': {
      const sent = outcome.code === 'tool.reported_error' ? outcome.payloadExtras?.['mcp_result'] : undefined;
      const { content, ...rest } =
        sent === undefined
          ? { content: [toText(outcomeToModelContent(outcome))] }
          : await passOn(sent, files);
      return { ...rest, content, ...failed(outcome, rest._meta) };
    }
    case 'ToolTimeout':
    case 'ToolDenied':
      return { content: [toText(outcomeToModelContent(outcome))], ...failed(outcome) };
  }
}

/** The name of the call and its code, for programs that look it up. */
const failed = (
  outcome: Exclude<ToolOutcome, { type: 'ToolExecutionResult' | 'ToolArtifactReference' }>,
  meta: JsonObject = {},
): { isError: true; _meta: JsonObject } => ({
  isError: true,
  _meta: {
    ...meta,
    'quittance/outcome': { callId: outcome.callId, type: outcome.type, code: outcome.code },
  },
});

const toText = (text: string): JsonObject => ({ type: 'text', text });

const wordsOf = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value));

async function passOn(output: JsonValue, files: Files): Promise<McpToolResult> {
  if (!isJsonObject(output)) return { content: [toText(wordsOf(output))] };
  const { content, ...rest } = withoutOtherAnswers(output);
  const parts = Array.isArray(content) ? (content as readonly JsonValue[]) : [];
  const filled: JsonObject[] = [];
  for (const part of parts) filled.push(isJsonObject(part) ? await files.fill(part) : toText(wordsOf(part)));
  return { ...rest, content: filled };
}

type FileFacts = Pick<OutputFile, 'artifactId' | 'mimeType' | 'name'>;

function filesOf(outcome: ToolOutcome): readonly FileFacts[] {
  if ('files' in outcome && outcome.files !== undefined) return outcome.files;
  return ('payloadExtras' in outcome && attachedFilesOf(outcome.payloadExtras)?.files) || [];
}

/** The files of one outcome. A name in the output counts only if the outcome lists the file. */
class Files {
  readonly #readArtifact: ReadArtifact;
  readonly #sessionId: string;
  readonly #files: readonly FileFacts[];
  readonly #mediaLimit: number;

  constructor(
    readArtifact: ReadArtifact,
    sessionId: string,
    files: readonly FileFacts[],
    mediaLimit: number,
  ) {
    this.#readArtifact = readArtifact;
    this.#sessionId = sessionId;
    this.#files = files;
    this.#mediaLimit = mediaLimit;
  }

  /** Undefined if it is gone or was changed. */
  async #read(artifactId: string): Promise<StoredArtifact | undefined> {
    try {
      return await this.#readArtifact(this.#sessionId, artifactId);
    } catch (error) {
      if (isAltered(error)) return undefined;
      throw error;
    }
  }

  async readJson(artifactId: string): Promise<JsonValue | undefined> {
    const artifact = await this.#read(artifactId);
    if (typeof artifact?.content !== 'string') return undefined;
    const json = parseJson(artifact.content);
    return json.ok ? json.value : undefined;
  }

  /** A part with its data in place of the name of its file. */
  async fill(part: JsonObject): Promise<JsonObject> {
    const { type, data, resource } = part;
    if (type === 'image' || type === 'audio')
      return this.#fillWith(part, data, (content) => ({ ...part, data: toBase64(content) }));
    if (type !== 'resource' || !isJsonObject(resource)) return part;
    const { blob, text } = resource;
    if (text !== undefined)
      return this.#fillWith(part, text, (content) => ({
        ...part,
        resource: {
          ...resource,
          text: typeof content === 'string' ? content : Buffer.from(content).toString(),
        },
      }));
    return this.#fillWith(part, blob, (content) => ({
      ...part,
      resource: { ...resource, blob: toBase64(content) },
    }));
  }

  async #fillWith(
    part: JsonObject,
    named: JsonValue | undefined,
    put: (content: Uint8Array | string) => JsonObject,
  ): Promise<JsonObject> {
    const file = this.#find(named);
    if (file === undefined) return part;
    const content = (await this.#read(file.artifactId))?.content;
    if (content === undefined) return toText('A file of this result is no longer available.');
    return sizeOf(content) > this.#mediaLimit || this.#isLongText(part, content)
      ? this.#toLink(file, content)
      : put(content);
  }

  /** Text is set aside only above its own limit. */
  #isLongText(part: JsonObject, content: Uint8Array | string): boolean {
    return (
      typeof content === 'string' && isJsonObject(part['resource']) && part['resource']['text'] !== undefined
    );
  }

  #find(named: JsonValue | undefined): FileFacts | undefined {
    if (!isJsonObject(named)) return undefined;
    return this.#files.find(({ artifactId }) => artifactId === named['$artifact']);
  }

  #toLink({ artifactId, mimeType, name }: FileFacts, content: Uint8Array | string): JsonObject {
    return {
      type: 'resource_link',
      uri: toArtifactUri(this.#sessionId, artifactId),
      name: name ?? artifactId,
      mimeType,
      size: sizeOf(content),
    };
  }

  /** The files after an output that does not place them. */
  async asParts(): Promise<readonly JsonObject[]> {
    const parts: JsonObject[] = [];
    for (const file of this.#files) {
      const named = { $artifact: file.artifactId };
      const kind = /^(image|audio)\//.exec(file.mimeType)?.[1];
      parts.push(
        await this.fill(
          kind === undefined
            ? {
                type: 'resource',
                resource: {
                  uri: toArtifactUri(this.#sessionId, file.artifactId),
                  mimeType: file.mimeType,
                  blob: named,
                },
              }
            : { type: kind, data: named, mimeType: file.mimeType },
        ),
      );
    }
    return parts;
  }
}

const toBase64 = (content: Uint8Array | string): string =>
  (typeof content === 'string' ? Buffer.from(content, 'utf8') : Buffer.from(content)).toString('base64');

const sizeOf = (content: Uint8Array | string): number =>
  typeof content === 'string' ? Buffer.byteLength(content, 'utf8') : content.byteLength;
