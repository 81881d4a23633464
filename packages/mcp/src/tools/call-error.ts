/**
 * Why a request to an MCP server brought no result, and what that says about its effect. Errors are recognized by
 * their fields, because a process may hold several copies and both generations of the SDK.
 */
import { isJsonObject } from 'quittance/internal/base/json';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import { isToolError, ToolError } from 'quittance/internal/call/tool-error';
import { thrownInWords } from 'quittance/internal/tool/describe-thrown';

/** Thrown by a caller that knows that its request never left this process. */
export class McpNotSent extends Error {
  override readonly name = 'McpNotSent';
}

/** An error that the server sent, as JSON-RPC defines it. */
export type JsonRpcError = { readonly code: number; readonly message: string; readonly data?: JsonValue };

/** SDK v2: the client refused before it sent anything. */
const beforeSending: ReadonlySet<unknown> = new Set([
  'NOT_CONNECTED',
  'NOT_INITIALIZED',
  'CAPABILITY_NOT_SUPPORTED',
  'METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION',
]);

/** The connection was never made, so the server received nothing. */
const unreachable: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT']);

/** Codes that SDK v1 gives to its own errors: connection closed, request timed out. A server may also send them. */
const ambiguous: ReadonlySet<number> = new Set([-32_000, -32_001]);

/** The server did not run the tool: parse error, invalid request, unknown method, invalid parameters. */
const refusing: ReadonlySet<number> = new Set([-32_700, -32_600, -32_601, -32_602]);

/** `mayRerun`: a second run of the tool does no harm, so a lost answer is an ordinary network error. */
export function toCallError(
  thrown: unknown,
  { server, mayRerun }: { readonly server: string; readonly mayRerun: boolean },
): unknown {
  // The runtime reads its own errors, and knows why it aborted the request.
  if (isToolError(thrown) || fieldOf(thrown, 'name') === 'AbortError') return thrown;
  const words = thrownInWords(thrown);
  const rpc = readJsonRpcError(thrown);
  if (rpc !== undefined) return answeredWithError(rpc);
  if (wasNotSent(thrown))
    return new ToolError('tool.network_error', `The MCP server ${server} could not be reached: ${words}`, {
      retryable: true,
      cause: thrown,
    });
  const status = httpStatusOf(thrown);
  if (status !== undefined && status < 500 && status !== 408)
    return new ToolError(
      'tool.execution_error',
      `The MCP server ${server} refused the request with HTTP status ${status}. The tool did not run.`,
      // A server that is busy, or has lost its session, can answer the next request.
      { retryable: true, extras: { http_status: status }, cause: thrown },
    );
  const extras = { lost: words, ...(status !== undefined && { http_status: status }) };
  if (mayRerun)
    return new ToolError('tool.network_error', `The MCP server ${server} did not answer: ${words}`, {
      extras,
      cause: thrown,
    });
  return new ToolError(
    'tool.indeterminate',
    `The MCP server ${server} received the call and did not answer. It is unknown whether the call took effect.`,
    { extras, cause: thrown },
  );
}

function answeredWithError({ code, message, data }: JsonRpcError): ToolError {
  const extras = { jsonrpc_code: code, ...(data !== undefined && { jsonrpc_data: data }) };
  const said = message.trim() === '' ? `The MCP server answered with the error ${code}.` : message;
  // Clients use the same codes for a result that they reject. The tool did run then.
  if (refusing.has(code) && /output schema|structured content/i.test(said))
    return new ToolError('tool.invalid_output', said);
  // The server rejected the request, so the tool did not run. Other arguments may be accepted.
  if (refusing.has(code)) return new ToolError('tool.reported_error', said, { extras });
  return new ToolError('tool.execution_error', said, { extras });
}

/** The error that the server sent. Undefined if the client made the error, or may have made it. */
export function readJsonRpcError(thrown: unknown): JsonRpcError | undefined {
  const code = fieldOf(thrown, 'code');
  const isOfSdk1 = fieldOf(thrown, 'name') === 'McpError';
  if (typeof code !== 'number' || !Number.isSafeInteger(code)) return undefined;
  // The HTTP errors of SDK v1 have their status as code.
  if (code >= 100 && code < 600) return undefined;
  if (isOfSdk1 && ambiguous.has(code)) return undefined;
  const said = fieldOf(thrown, 'message');
  const message = typeof said === 'string' ? said.replace(/^MCP error -?\d+: /, '') : '';
  const data = fieldOf(thrown, 'data');
  return { code, message, ...(data !== undefined && { data: data as JsonValue }) }; // it came as JSON
}

/** The JSON-RPC error with which the call ended, also for a call that is recalled from its record. */
export function jsonRpcErrorOf(outcome: ToolOutcome): JsonRpcError | undefined {
  const extras: JsonObject = (outcome.type === 'ToolFailure' ? outcome.payloadExtras : undefined) ?? {};
  const { jsonrpc_code: code, jsonrpc_data: data } = extras;
  if (outcome.type !== 'ToolFailure' || typeof code !== 'number') return undefined;
  return { code, message: outcome.error, ...(data !== undefined && { data }) };
}

const deepestCause = 5;

function wasNotSent(thrown: unknown, depth = 0): boolean {
  if (depth > deepestCause || typeof thrown !== 'object' || thrown === null) return false;
  const code = fieldOf(thrown, 'code');
  return (
    fieldOf(thrown, 'name') === 'McpNotSent' ||
    fieldOf(thrown, 'name') === 'UnauthorizedError' ||
    // SDK v1 has no code for it.
    (depth === 0 && fieldOf(thrown, 'message') === 'Not connected') ||
    beforeSending.has(code) ||
    unreachable.has(code) ||
    wasNotSent(fieldOf(thrown, 'cause'), depth + 1)
  );
}

function httpStatusOf(thrown: unknown): number | undefined {
  const data = fieldOf(thrown, 'data');
  const candidates = [
    fieldOf(thrown, 'status'),
    isJsonObject(data) ? data['status'] : undefined,
    fieldOf(thrown, 'code'),
  ];
  return candidates.find(
    (value): value is number =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= 400 && value < 600,
  );
}

function fieldOf(thrown: unknown, key: string): unknown {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  try {
    return (thrown as Readonly<Record<string, unknown>>)[key];
  } catch {
    return undefined; // A getter that throws tells nothing.
  }
}
