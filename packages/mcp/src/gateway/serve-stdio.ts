/** One client over stdin and stdout, as clients start servers themselves. */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { Readable, Writable } from 'node:stream';
import { toLastingFact } from 'quittance/internal/runtime/call-input';
import type { Caller } from './client-request.ts';
import { Face } from './face.ts';
import type { Gateway } from './gateway.ts';
import { mostMessageBytes, useLineBuffer } from './line-buffer.ts';
import type { Fields } from './relayed-request.ts';
import { toFields, toFieldsList } from './relayed-request.ts';
import { UnreadableMessage } from './unreadable-message.ts';

export type StdioOptions = {
  readonly gateway: Gateway;
  readonly caller: Caller;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Unique for this connection. */
  readonly sessionId: string;
  /** Aborted when the gateway has closed. A client may keep its end open. */
  readonly closed: AbortSignal;
};

/** Resolves when the client has closed its end, or the gateway has closed. */
export async function serveGatewayOverStdio(options: StdioOptions): Promise<void> {
  const { gateway, stdin, stdout, sessionId, closed } = options;
  const caller = { ...options.caller, principal: toLastingFact(options.caller.principal) };
  const ended = Promise.withResolvers<void>();
  const opening = Promise.withResolvers<{ info: Fields; capabilities: Fields }>();
  const wire = new StdioServerTransport(stdin, stdout);
  useLineBuffer(wire, mostMessageBytes);
  const handle = serveStdio(
    async ({ era }) => {
      const client = era === 'legacy' ? await opening.promise : { info: {}, capabilities: {} };
      // A modern client may never speak the legacy protocol on this connection, or fall back to it.
      if (era === 'modern') await gateway.start();
      const opened = new Face({
        gateway,
        era,
        caller,
        client,
        sessionId,
        request: undefined,
        opens: era === 'legacy',
      });
      await opened.ready;
      gateway.remember(opened);
      if (era === 'legacy') void gateway.startFor((upstream) => opened.sendTo(upstream));
      return opened.product;
    },
    {
      transport: peekAt(wire, (message) => {
        const { method, params } = message as { method?: string; params?: unknown };
        if (method === 'initialize') {
          const { clientInfo, capabilities } = toFields(params);
          opening.resolve({ info: toFields(clientInfo), capabilities: toFields(capabilities) });
        } else if (method === 'subscriptions/listen') watchAll(gateway, params, caller);
        else if (method !== undefined) opening.resolve({ info: {}, capabilities: {} });
      }),
      onerror: (error) => {
        gateway.log('client', error.message);
        // The client waits for an answer to its request.
        if (error instanceof UnreadableMessage && error.refusal !== undefined)
          void wire.send(error.refusal).catch(() => undefined);
      },
    },
  );
  const { onclose } = wire;
  wire.onclose = () => {
    onclose?.();
    ended.resolve();
  };
  closed.addEventListener('abort', () => ended.resolve(), { once: true });
  await ended.promise;
  await handle.close();
}

/** The SDK makes the server before it shows the first message, which says what the client can do. */
function peekAt(wire: Transport, look: (message: JSONRPCMessage) => void): Transport {
  return new Proxy(wire, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
    set: (target, key, value: unknown) => {
      if (key !== 'onmessage') return Reflect.set(target, key, value, target);
      const inner = value as NonNullable<Transport['onmessage']>;
      target.onmessage = (message, extra) => {
        look(message);
        inner(message, extra);
      };
      return true;
    },
  });
}

/** Asks the servers to report the resources that a modern client listens to. */
export function watchAll(gateway: Gateway, params: unknown, caller: Caller): void {
  const { resourceSubscriptions } = toFields(toFields(params)['notifications']);
  const uris = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : toFieldsList(undefined);
  for (const uri of uris) if (typeof uri === 'string') gateway.watch(uri, caller);
}
