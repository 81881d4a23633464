import { isJsonObject } from 'quittance/internal/base/json';
import { ToolError } from 'quittance/internal/call/tool-error';

/**
 * Throws if the result of an MCP tool is an error. The server marks it next to the content; the SDK keeps the mark on
 * the list.
 */
export function refuseMcpError(content: unknown): void {
  if (!Array.isArray(content) || !('isError' in content) || content.isError !== true) return;
  const texts = (content as readonly unknown[]).flatMap((part) =>
    isJsonObject(part) && typeof part['text'] === 'string' ? [part['text']] : [],
  );
  throw new ToolError(
    'tool.reported_error',
    texts.join('\n') || 'The MCP server reported an error without a text.',
  );
}
