/**
 * An in-process tool server that the Claude Agent SDK uses like its own: over its transport, in messages of the Model
 * Context Protocol. The SDK's own server would check arguments and drop unknown ones before the runtime sees them.
 * This one passes on what the model wrote.
 */
import { isJsonObject } from 'quittance/internal/base/json';
import type { JsonObject } from 'quittance/internal/base/json';

/** The connection to the SDK. */
export type ClaudeAgentTransport = {
  onmessage?: ((message: never) => void) | undefined;
  onclose?: (() => void) | undefined;
  start(): Promise<void>;
  send(message: never): Promise<void>;
  close(): Promise<void>;
};

/** The tools of the server, and how calls are made. */
export type ServedTools = {
  readonly name: string;
  /** Called for each query, which makes its own connection. */
  readonly onConnect: () => void;
  /** Receives the version that the program reports. */
  readonly onClient: (version: string) => void;
  readonly list: () => readonly object[];
  /** Makes a call, or throws if the result cannot be a tool result. */
  readonly call: (request: ServedCall) => Promise<object>;
};

export type ServedCall = {
  readonly name: string;
  readonly arguments: unknown;
  readonly meta: JsonObject;
  readonly requestId: string | number;
  /** Aborted when the SDK cancels the call, and when the query ends first. */
  readonly signal: AbortSignal;
  readonly notify: (notification: { readonly method: string; readonly params?: unknown }) => Promise<void>;
};

/** The parts of a server that the SDK uses. */
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
        transport.send({ jsonrpc: '2.0', ...message } as never); // as defined by the protocol
      const answer = async (id: string | number, method: string, params: JsonObject): Promise<void> => {
        const controller = new AbortController();
        running.set(id, controller);
        let reply: object;
        try {
          const result = await serve(served, method, params, id, controller.signal, send);
          reply =
            result === undefined
              ? { error: { code: methodNotFound, message: `Unknown method ${method}.` } }
              : { result };
        } catch (error) {
          reply = { error: { code: internalError, message: messageOf(error) } };
        }
        running.delete(id);
        // After a cancellation or a disconnect there is no reader.
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
      // The parts used here are the same in every version of the protocol.
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

/** The text for the model. Causes are for the developer. */
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
