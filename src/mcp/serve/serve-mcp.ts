import { randomBytes, randomUUID } from 'node:crypto';
import type { RequestStateCodec, ServerContext, Transport } from '@modelcontextprotocol/server';
import {
  createRequestStateCodec,
  fromJsonSchema,
  McpServer,
  ProtocolError,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { checkKeys } from '../../base/check-keys.ts';
import { QuittanceError } from '../../base/error.ts';
import type { Runtime } from '../../runtime/create-runtime.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { Principal } from '../../tool/tool-context.ts';
import { readArtifactResource } from '../tools/artifact-resource.ts';
import { toCheckTool } from './approvals.ts';
import type { McpEra, McpFetch, McpPeer } from './mcp-fetch.ts';
import { createMcpFetch } from './mcp-fetch.ts';
import type { CallState, Fields, Serving } from './served-call.ts';
import { checkCall, promisesStructure, serveCall, serveTask } from './served-call.ts';

export type ServeMcpOptions = {
  /** Shown to clients. Default: `quittance`. */
  readonly name?: string;
  readonly version?: string;
  /** Told to the model by clients that support it. */
  readonly instructions?: string;
  /** The versions of the protocol, before and since 2026-07-28. Default: both. */
  readonly eras?: readonly McpEra[];
  /** Names under which HTTP clients may address the server. Default: those of this machine. */
  readonly hostnames?: readonly string[];
  /** The session of a client's calls. Default: one for each authenticated client, and `mcp:local` for the others. */
  readonly session?: (peer: McpPeer) => string;
  /** On whose behalf a client calls. */
  readonly principal?: (peer: McpPeer) => Principal | undefined;
  /** The console of this runtime. Held calls then come with a link to their question. */
  readonly consoleUrl?: string | URL;
  /**
   * Lets the person at the client decide about held calls of a tool: the person's name. `rules` are the ids of the rules
   * that ask; it is empty if only the tool's mode asks. Default: undefined for every tool, so the client shows the
   * question, and the decision comes from elsewhere. It is not asked about rules that name their approvers, stages of
   * workflows, possible repeats, and arguments that are too long to be shown whole.
   */
  readonly decidesInClient?: (
    toolName: string,
    peer: McpPeer,
    rules: readonly string[],
  ) => string | undefined;
  /** Larger files of results become a link, in bytes. Default: 4 MiB. */
  readonly mediaLimit?: number;
};

/** The tools of a runtime as an MCP server. */
export type McpServing = {
  /** Serves HTTP: pass it to any server that speaks the Fetch API. Authentication is up to the host. */
  readonly fetch: McpFetch['fetch'];
  /** Serves one client over the standard input and output of this process, or over another transport. */
  readonly stdio: (transport?: Transport) => { readonly close: () => Promise<void> };
  /** Ends all connections. The runtime stays open. */
  readonly close: () => Promise<void>;
};

const anything = fromJsonSchema<Fields>({ type: 'object' });
const tasksExtension = 'io.modelcontextprotocol/tasks';
const knownOptions = [
  'name',
  'version',
  'instructions',
  'eras',
  'hostnames',
  'session',
  'principal',
  'consoleUrl',
  'decidesInClient',
  'mediaLimit',
] as const satisfies readonly (keyof ServeMcpOptions)[];

/** Offers the tools of a runtime to MCP clients. Every call is a call of the runtime, and held calls wait for a person. */
export function serveMcp(runtime: Runtime, options: ServeMcpOptions = {}): McpServing {
  checkKeys('serveMcp', options, knownOptions);
  if (typeof runtime?.turn !== 'function')
    throw new QuittanceError('config.invalid', 'serveMcp expects a runtime, as createRuntime makes it.');
  const { eras, hostnames } = options;
  const codec: RequestStateCodec<CallState> = createRequestStateCodec<CallState>({
    key: randomBytes(32),
    ttlSeconds: 24 * 3_600,
    bind: (ctx) => ctx.http?.authInfo?.clientId ?? '',
  });
  const build = (peer: McpPeer): McpServer => buildServer(runtime, options, codec, peer);
  const http = createMcpFetch({
    build,
    ...(eras !== undefined && { eras }),
    ...(hostnames !== undefined && { hostnames }),
  });
  const open = new Set<{ close(): Promise<void> }>();
  return {
    fetch: http.fetch,
    stdio(transport) {
      const served = serveStdio(({ era }) => build({ era }), {
        legacy: eras?.includes('legacy') === false ? 'reject' : 'serve',
        ...(transport !== undefined && { transport }),
      });
      open.add(served);
      return served;
    },
    async close() {
      await http.close();
      await Promise.all([...open].map((served) => served.close()));
    },
  };
}

/** The SDK checks `Mcp-Param-*` headers against the schemas of this class. */
class RuntimeServer extends McpServer {
  readonly #runtime: Runtime;

  constructor(runtime: Runtime, ...rest: ConstructorParameters<typeof McpServer>) {
    super(...rest);
    this.#runtime = runtime;
  }

  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    return this.#runtime.tools.find((tool) => tool.name === name)?.input.jsonSchema;
  }
}

function buildServer(
  runtime: Runtime,
  options: ServeMcpOptions,
  codec: RequestStateCodec<CallState>,
  peer: McpPeer,
): McpServer {
  const {
    name = 'quittance',
    version = '0',
    instructions,
    consoleUrl,
    decidesInClient,
    mediaLimit,
  } = options;
  const { era, request, authInfo } = peer;
  const sessionId = options.session?.(peer) ?? `mcp:${authInfo?.clientId ?? 'local'}`;
  const checkTool = runtime.tools.some((tool) => tool.name === 'check_call')
    ? 'quittance_check_call'
    : 'check_call';
  const serving: Serving = {
    runtime,
    sessionId,
    principal: options.principal?.(peer),
    era,
    connectionId: era === 'legacy' ? randomUUID() : undefined,
    codec,
    checkTool,
    mediaLimit,
    linkTo: (confirmationId) =>
      consoleUrl === undefined
        ? undefined
        : new URL(`/confirmations/${encodeURIComponent(confirmationId)}`, consoleUrl).href,
    decidesInClient: (toolName, rules) => decidesInClient?.(toolName, peer, rules),
  };
  const face = new RuntimeServer(
    runtime,
    { name, version },
    {
      capabilities: {
        tools: {},
        resources: {},
        ...(era === 'modern' && { extensions: { [tasksExtension]: {} } }),
      },
      ...(instructions !== undefined && { instructions }),
    },
  );
  const { server } = face;
  server.setRequestHandler('tools/list', () => ({
    tools: [...listTools(runtime, sessionId), toCheckTool(checkTool)] as never, // written as the protocol defines it
  }));
  server.setRequestHandler('resources/list', () => ({ resources: [] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const contents = await readArtifactResource(
      (session, artifactId) => runtime.calls.artifact({ sessionId: session, artifactId }),
      uri,
      (session) => session === sessionId,
    );
    if (contents === undefined) throw new ResourceNotFoundError(uri);
    return { contents: [contents] };
  });
  // The SDK refuses a task as the result of its own handler. With a fallback, unknown methods would look known.
  server.removeRequestHandler('tools/call');
  if ((request?.headers.get('mcp-method') ?? 'tools/call') === 'tools/call' || era === 'legacy')
    server.fallbackRequestHandler = async (sent, ctx) => {
      if (sent.method !== 'tools/call') throw new ProtocolError(-32_601, 'Method not found');
      const params: Fields = { ...sent.params };
      if (params['name'] === checkTool) {
        const { call_id: callId } = { ...(params['arguments'] as Fields | undefined) };
        return checkCall(serving, callId);
      }
      return serveCall(serving, params, { ctx, capabilities: capabilitiesOf(face, ctx) });
    };
  if (era === 'modern')
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      server.setRequestHandler(method, { params: anything, result: anything }, (params, ctx) =>
        serveTask(serving, method, params, ctx),
      );
  return face;
}

/** What the client can do: a modern client says it with each request. */
function capabilitiesOf({ server }: McpServer, { mcpReq }: ServerContext): Fields {
  const envelope: Fields = { ...mcpReq.envelope };
  const declared = envelope['io.modelcontextprotocol/clientCapabilities'] ?? server.getClientCapabilities();
  return { ...(declared as Fields | undefined) };
}

function listTools(runtime: Runtime, sessionId: string): readonly Fields[] {
  const own = new Map(runtime.tools.map((tool) => [tool.name, tool]));
  return runtime
    .turn({ sessionId })
    .tools()
    .map(({ name, description, schema }) => {
      const tool = own.get(name);
      return {
        name,
        ...(tool !== undefined && tool.displayName !== name && { title: tool.displayName }),
        description,
        inputSchema: { ...schema, type: 'object' },
        ...outputSchemaOf(tool),
        annotations: tool === undefined ? { readOnlyHint: true } : annotationsOf(tool),
      };
    });
}

function outputSchemaOf(tool: AnyTool | undefined): Fields {
  return tool !== undefined && promisesStructure(tool) ? { outputSchema: tool.output?.jsonSchema } : {};
}

const annotationsOf = ({ mode, idempotent }: AnyTool): Fields => ({
  readOnlyHint: mode === 'read',
  ...(mode !== 'read' && {
    destructiveHint: mode === 'destructive' || mode === 'local',
    idempotentHint: idempotent,
  }),
});
