/**
 * Tools of MCP servers for OpenAI Agents JS. The SDK's own conversion drops `isError` of a result. Here the server is
 * called directly, so that such a result is a failure.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject } from 'quittance/internal/base/json';
import type { JsonValue } from 'quittance/internal/base/json';
import { describeValue } from 'quittance/internal/tool/describe-value';
import type { AdoptedTool } from '@quittance/adapter-kit/internal/adopt/adopted-tool';
import { keepMcpPart } from '@quittance/adapter-kit/internal/adopt/keep-mcp-files';
import { refuseMcpError } from './mcp-error.ts';
import type { OpenAiAgentsCall } from './tool.ts';
import { readHints } from 'quittance/internal/tool/tool-hints';

/** The parts of an MCP server of the SDK that this adapter uses. Methods, so that the real type matches. */
export interface OpenAiAgentsMcpServer {
  readonly name: string;
  readonly useStructuredContent?: boolean | undefined;
  listTools(): Promise<readonly unknown[]>;
  callTool(
    name: string,
    args: Record<string, unknown> | null,
    meta?: Record<string, unknown> | null,
    options?: { signal?: AbortSignal },
  ): Promise<unknown>;
}

export async function listMcpTools(
  servers: readonly OpenAiAgentsMcpServer[],
): Promise<readonly AdoptedTool<OpenAiAgentsCall>[]> {
  const lists = await Promise.all(
    servers.map(async (server) => (await server.listTools()).map((tool) => readMcpTool(server, tool))),
  );
  return lists.flat();
}

function readMcpTool(server: OpenAiAgentsMcpServer, tool: unknown): AdoptedTool<OpenAiAgentsCall> {
  const { name, description, inputSchema, outputSchema } = (isJsonObject(tool) ? tool : {}) as Record<
    string,
    unknown
  >;
  // The SDK leaves structured content out, unless its server is set up for it.
  const usesStructure = server.useStructuredContent === true && isJsonObject(outputSchema);
  if (typeof name !== 'string')
    throw new QuittanceError(
      'config.invalid',
      `The MCP server ${JSON.stringify(server.name)} lists ${describeValue(tool)}, which is not a tool.`,
    );
  return {
    name,
    description: typeof description === 'string' ? description : undefined,
    input: isJsonObject(inputSchema) ? { type: 'object', ...inputSchema } : undefined,
    hints: readHints(tool),
    ...(usesStructure && { output: outputSchema }),
    run: async (args, _native, { signal, attach }) => {
      const given = args as Record<string, unknown>; // an object, according to its schema
      const content = await server.callTool(name, given, undefined, { signal });
      const structured = usesStructure && isList(content) ? content.structuredContent : undefined;
      const output = readMcpResult(content);
      const kept = Array.isArray(output)
        ? output.map((part: JsonValue) => keepMcpPart(part, attach))
        : keepMcpPart(output as JsonValue, attach); // it came as JSON
      return structured ?? kept;
    },
  };
}

/** The content as the SDK passes it on: one part, or all of them. Throws if the server reports a failure. */
export function readMcpResult(content: unknown): unknown {
  refuseMcpError(content);
  return Array.isArray(content) && content.length === 1 ? (content[0] as unknown) : content;
}

/** The SDK keeps the rest of a result on the list of its parts. */
const isList = (content: unknown): content is readonly unknown[] & { readonly structuredContent?: unknown } =>
  Array.isArray(content);
