/**
 * A server of tools in this process, which the Claude Agent SDK talks to as it talks to its own: over a transport that
 * it hands over, in messages of the Model Context Protocol. Its own would check arguments and leave out what a schema
 * does not name before anybody here sees them; this one passes on what the model wrote.
 */
import { isJsonObject } from '../../base/json.ts';
import type { JsonObject } from '../../base/json.ts';

/** What carries messages to the SDK and back. */
export type ClaudeAgentTransport = {
  onmessage?: ((message: never) => void) | undefined;
  onclose?: (() => void) | undefined;
  start(): Promise<void>;
  send(message: never): Promise<void>;
  close(): Promise<void>;
};

/** What the server offers, and how calls are made. */
export type ServedTools = {
  readonly name: string;
  /** A connection is made for each query. */
  readonly onConnect: () => void;
  /** Told which program asks, by its own word. */
  readonly onClient: (version: string) => void;
  readonly list: () => readonly object[];
  /** Makes a call, or throws where that cannot be said in the words of a tool. */
  readonly call: (request: ServedCall) => Promise<object>;
};

export type ServedCall = {
  readonly name: string;
  readonly arguments: unknown;
  readonly meta: JsonObject;
  readonly requestId: string | number;
  /** Aborted when the SDK cancels the call, and when the query ends before it. */
  readonly signal: AbortSignal;
  readonly notify: (notification: { readonly method: string; readonly params?: unknown }) => Promise<void>;
};

/** What the SDK uses of the server of a configuration. */
export interface ClaudeAgentServer {
  connect(transport: ClaudeAgentTransport): Promise<void>;
  close(): Promise<void>;
}

const methodNotFound = -32_601;
const internalError = -32_603;

export function createServer(served: ServedTools): ClaudeAgentServer {
  const connected = new Set<ClaudeAgentTransport>();
  return {
    async connect(transport) {
      served.onConnect();
      connected.add(transport);
      const running = new Map<unknown, AbortController>();
      const send = (message: object): Promise<void> =>
        transport.send({ jsonrpc: '2.0', ...message } as never); // as the protocol has it
      const answer = async (id: string | number, method: string, params: JsonObject): Promise<void> => {
        const controller = new AbortController();
        running.set(id, controller);
        let reply: object;
        try {
          const result = await serve(served, method, params, id, controller.signal, send);
          reply =
            result === undefined
              ? { error: { code: methodNotFound, message: `There is no method ${method}.` } }
              : { result };
        } catch (error) {
          reply = { error: { code: internalError, message: messageOf(error) } };
        }
        running.delete(id);
        // Nobody listens any more where it was cancelled or the connection is gone.
        if (!controller.signal.aborted) await send({ id, ...reply }).catch(() => undefined);
      };
      transport.onmessage = (message: unknown) => {
        if (!isJsonObject(message) || typeof message['method'] !== 'string') return;
        const { id, method, params } = message;
        const given = isJsonObject(params) ? params : {};
        if (typeof id === 'string' || typeof id === 'number') void answer(id, method, given);
        else if (method === 'notifications/cancelled') running.get(given['requestId'])?.abort();
      };
      transport.onclose = () => {
        connected.delete(transport);
        for (const controller of running.values()) controller.abort();
      };
      await transport.start();
    },
    async close() {
      for (const transport of connected) await transport.close();
    },
  };
}

async function serve(
  served: ServedTools,
  method: string,
  params: JsonObject,
  requestId: string | number,
  signal: AbortSignal,
  notify: ServedCall['notify'],
): Promise<object | undefined> {
  switch (method) {
    case 'initialize': {
      const { protocolVersion, clientInfo } = params;
      const version = isJsonObject(clientInfo) ? clientInfo['version'] : undefined;
      if (typeof version === 'string') served.onClient(version);
      const serverInfo = { name: served.name, version: '1.0.0' };
      // What is used here has been the same in every version of the protocol.
      return { protocolVersion, capabilities: { tools: {} }, serverInfo };
    }
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: served.list() };
    case 'tools/call': {
      const { name, arguments: args = {}, _meta: meta } = params;
      return served.call({
        name: typeof name === 'string' ? name : '',
        arguments: args,
        meta: isJsonObject(meta) ? meta : {},
        requestId,
        signal,
        notify,
      });
    }
    default:
      return undefined;
  }
}

/** The model is told this. Causes are for the developer. */
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
