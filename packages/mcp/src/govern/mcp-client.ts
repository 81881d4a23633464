/** The parts of an MCP client that are used here. Clients of both generations of the SDK have them. */
import type { JsonObject } from 'quittance/internal/base/json';

/** Written as methods, so that the clients of both SDKs are assignable. */
export interface McpClient {
  listTools(params?: { cursor?: string }): Promise<{
    readonly tools: readonly unknown[];
    readonly nextCursor?: string | undefined;
  }>;
  callTool(params: never, second?: never, third?: never): Promise<unknown>;
  getServerVersion?(): { readonly name: string } | undefined;
  fallbackNotificationHandler?: ((notification: never) => Promise<void>) | undefined;
}

/** Options that both SDKs take. */
type RequestOptions = {
  readonly signal: AbortSignal;
  readonly timeout: number;
  readonly onprogress: (progress: {
    readonly message?: unknown;
    readonly progress?: unknown;
    readonly total?: unknown;
  }) => void;
};

type Params = { readonly name: string; readonly arguments: JsonObject; readonly _meta: JsonObject };

/** Each SDK declares its own parameters, so the interface above names none. */
type CallV1 = (params: Params, resultSchema: undefined, options: RequestOptions) => Promise<unknown>;
type CallV2 = (params: Params, options: RequestOptions) => Promise<unknown>;

/** The longest time that a timer can run. The runtime has its own deadline for every call. */
const noTimeout = 2_147_483_647;

export function callMcpTool(
  client: McpClient,
  params: Params,
  { signal, onprogress }: Omit<RequestOptions, 'timeout'>,
): Promise<unknown> {
  const options: RequestOptions = { signal, onprogress, timeout: noTimeout };
  // Only the second SDK has subscriptions. The first takes a schema for the result before the options.
  return 'listen' in client
    ? (client.callTool as unknown as CallV2).call(client, params, options)
    : (client.callTool as unknown as CallV1).call(client, params, undefined, options);
}

/** More pages are not a list of tools. */
const mostPages = 1_000;

export async function listAllTools(client: McpClient): Promise<readonly unknown[]> {
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const { tools: listed, nextCursor } = await client.listTools(
      cursor === undefined ? undefined : { cursor },
    );
    tools.push(...listed);
    if (nextCursor === undefined || nextCursor === '' || nextCursor === cursor) return tools;
    cursor = nextCursor;
  }
  return tools;
}

type Notification = { readonly method?: unknown };

/** Calls `onChange` when the server announces a change of its tools. Other notifications go where they went before. */
export async function followToolChanges(client: McpClient, onChange: () => void): Promise<void> {
  const before = client.fallbackNotificationHandler?.bind(client);
  client.fallbackNotificationHandler = async (notification: Notification) => {
    if (notification.method === 'notifications/tools/list_changed') onChange();
    await before?.(notification as never);
  };
  if (!('listen' in client) || typeof client.listen !== 'function') return;
  // A modern server announces changes only to subscribers. A legacy one refuses, and announces them anyway.
  const subscribe = client.listen as (filter: { toolsListChanged: true }) => Promise<unknown>;
  await subscribe.call(client, { toolsListChanged: true }).catch(() => undefined);
}
