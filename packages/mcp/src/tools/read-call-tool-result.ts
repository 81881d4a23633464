/**
 * Reads the result of an MCP tool as the output of a call. Files become artifacts: the output holds their names in
 * place of their data, and nothing else changes.
 */
import { isJsonObject, toJson, ownValue } from 'quittance/internal/base/json';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { ToolError } from 'quittance/internal/call/tool-error';
import type { ToolContext } from 'quittance/internal/tool/tool-context';
import { keepMcpPart } from '@quittance/adapter-kit/internal/adopt/keep-mcp-files';

/**
 * - `result`: everything that the server sent, so that a gateway can pass it on. A result that is one plain text is
 *   that text.
 * - `value`: what a program or a model wants. The structured content, else the only part, else all parts.
 */
export type ResultShape = 'result' | 'value';

type Attach = ToolContext['attach'];

/** Throws a `ToolError` for a result that reports an error, or that is not a result. */
export function readCallToolResult(
  given: unknown,
  {
    shape,
    textLimit,
    attach,
  }: { readonly shape: ResultShape; readonly textLimit: number; readonly attach: Attach },
): JsonValue {
  const json = toJson(given);
  const result = json.ok && isJsonObject(json.value) ? json.value : undefined;
  // Servers of the first protocol version answered with `toolResult`.
  if (result !== undefined && ownValue(result, 'content') === undefined && 'toolResult' in result)
    return result['toolResult'] ?? null;
  const content = result === undefined ? undefined : ownValue(result, 'content');
  const structured = result === undefined ? undefined : ownValue(result, 'structuredContent');
  if (
    result === undefined ||
    !(Array.isArray(content) || (content === undefined && structured !== undefined))
  )
    throw new ToolError(
      'tool.invalid_output',
      'The MCP server answered with something that is not a tool result.',
    );
  const parts = ((content ?? []) as readonly JsonValue[]).map((part) => keepMcpPart(part, attach, textLimit));
  // The protocol knows true and false. Another value that says yes is not a success either.
  if (ownValue(result, 'isError')) throw reportedError(result, parts, textLimit);
  return shape === 'value' ? toValue(parts, result['structuredContent']) : toOutput(result, parts);
}

function toValue(parts: readonly JsonValue[], structured: JsonValue | undefined): JsonValue {
  if (structured !== undefined) return structured;
  const values = parts.map((part) => plainText(part) ?? part);
  return values.length > 1 ? values : (values[0] ?? null);
}

/** `resultType` belongs to the message, and only successes come here. */
function toOutput(result: JsonObject, parts: readonly JsonValue[]): JsonValue {
  const { content: _, isError: __, resultType: ___, _meta, ...others } = result;
  const rest = { ...others, ...metaOf(_meta) };
  const text = parts.length === 1 && Object.keys(rest).length === 0 ? plainText(parts[0]) : undefined;
  return text ?? { content: parts, ...rest };
}

/** A server does not speak for this program, whose keys say what became of a call. */
function metaOf(meta: JsonValue | undefined): { readonly _meta?: JsonObject } {
  if (!isJsonObject(meta)) return {};
  const theirs = Object.entries(meta).filter(([key]) => !isOurs(key));
  return theirs.length === 0 && Object.keys(meta).length > 0 ? {} : { _meta: Object.fromEntries(theirs) };
}

/** A result without fields of other answers: an end that also asks, or names a task, could be taken for them. */
export function withoutOtherAnswers<Value>(
  result: Readonly<Record<string, Value>>,
): Readonly<Record<string, Value>> {
  const { resultType: _, inputRequests: __, requestState: ___, task: ____, taskId: _____, ...rest } = result;
  return rest;
}

/** Keys of `_meta` that only this program writes: who answered, and what became of a call. */
export const isOurs = (key: string): boolean =>
  key.startsWith('quittance/') ||
  key === 'io.modelcontextprotocol/serverInfo' ||
  key === 'io.modelcontextprotocol/related-task';

/** The text of a part that says nothing else. */
function plainText(part: JsonValue | undefined): string | undefined {
  if (!isJsonObject(part) || part['type'] !== 'text' || Object.keys(part).length !== 2) return undefined;
  return typeof part['text'] === 'string' ? part['text'] : undefined;
}

function reportedError(result: JsonObject, parts: readonly JsonValue[], textLimit: number): ToolError {
  const texts = parts.flatMap((part) =>
    isJsonObject(part) && typeof part['text'] === 'string' && part['text'].trim() !== ''
      ? [part['text']]
      : [],
  );
  const output = toOutput(result, parts);
  return new ToolError(
    'tool.reported_error',
    texts.join('\n') || 'The tool reported an error without a text.',
    JSON.stringify(output).length > textLimit ? {} : { extras: { mcp_result: output } },
  );
}
