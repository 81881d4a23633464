import { checkKeys } from 'quittance/internal/base/check-keys';
import { QuittanceError } from 'quittance/internal/base/error';
import { describeUnknownName, quote } from 'quittance/internal/base/nearest';
import { ToolError } from 'quittance/internal/call/tool-error';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { ToolTraits } from 'quittance/internal/tool/tool-spec';
import type { ToolContext } from 'quittance/internal/tool/tool-context';
import type { ListedTool } from '@quittance/server/internal/mcp-reviews/listed-tool';
import {
  classifyListed,
  readListedTool,
  toolDigest,
} from '@quittance/server/internal/mcp-reviews/listed-tool';
import { toolFromListed } from '../tools/tool-from-listed.ts';
import type { McpClient } from './mcp-client.ts';
import { callMcpTool, followToolChanges, listAllTools } from './mcp-client.ts';

export type GovernMcpOptions = {
  /**
   * Trust the annotations of this server that lower a risk (`readOnlyHint`, `idempotentHint`). Default: false, because
   * the server writes them. Annotations that raise a risk always count.
   */
  readonly trustAnnotations?: boolean;
  /** Properties that the server's tools lack, by tool name: a mode, a timeout, a cost. */
  readonly overrides?: Readonly<Record<string, ToolTraits<unknown>>>;
  /** Put before every name, as `prefix__name`, for tools of several servers. */
  readonly prefix?: string;
  /** Govern only these tools, by the server's names. Default: all. */
  readonly only?: readonly string[];
  /** Longer text is stored as an artifact, in characters of JSON. Default: 100,000. */
  readonly textLimit?: number;
  /** Receives a tool whose schema cannot be compiled. It is left out. Default: `governMcp` throws. */
  readonly onUnusable?: (toolName: string, error: unknown) => void;
  /**
   * Receives the new tools when the server announces a change. The earlier tools keep working while the server lists
   * them unchanged. A call of a tool that changed is refused.
   */
  readonly onToolsChanged?: (tools: readonly AnyTool[]) => void;
};

/**
 * The tools of a connected MCP client, of SDK v1 or v2, as tools for `createRuntime` and for every adapter. The runtime
 * checks and records their calls; the client sends them.
 */
export async function governMcp(
  client: McpClient,
  options: GovernMcpOptions = {},
): Promise<readonly AnyTool[]> {
  checkKeys('governMcp', options, [
    'trustAnnotations',
    'overrides',
    'prefix',
    'only',
    'textLimit',
    'onUnusable',
    'onToolsChanged',
  ]);
  if (typeof client?.listTools !== 'function' || typeof client.callTool !== 'function')
    throw new QuittanceError(
      'config.invalid',
      'governMcp expects a connected client of the MCP SDK, with listTools and callTool.',
    );
  const governed = new GovernedServer(client, options);
  const tools = await governed.list();
  await followToolChanges(client, () => governed.onChange());
  return tools;
}

class GovernedServer {
  readonly #client: McpClient;
  readonly #options: GovernMcpOptions;
  /** The digests of the tools that the server lists now, by its names. */
  #digests: ReadonlyMap<string, string> = new Map();
  /** While a new list is read, calls wait for it. */
  #reading: Promise<unknown> | undefined;

  constructor(client: McpClient, options: GovernMcpOptions) {
    this.#client = client;
    this.#options = options;
  }

  async list(): Promise<readonly AnyTool[]> {
    const { only, overrides = {}, onUnusable } = this.#options;
    const listed = (await listAllTools(this.#client))
      .map(readListedTool)
      .filter(({ name }) => only === undefined || only.includes(name));
    const names = new Set(listed.map((tool) => this.#nameOf(tool)));
    if (names.size < listed.length) throw refuse('The server lists two tools with the same name.');
    const missing = only?.find((name) => !listed.some((tool) => tool.name === name));
    if (missing !== undefined)
      throw refuse(
        `\`only\` is invalid. ${describeUnknownName(
          'tool',
          missing,
          listed.map(({ name }) => name),
        )}`,
      );
    const unknown = Object.keys(overrides).find((name) => !names.has(name));
    if (unknown !== undefined)
      throw refuse(`The overrides are invalid. ${describeUnknownName('tool', unknown, [...names])}`);
    this.#digests = new Map(listed.map((tool) => [tool.name, toolDigest(tool)]));
    return Object.freeze(
      listed.flatMap((tool) => {
        try {
          return [this.#govern(tool)];
        } catch (error) {
          if (onUnusable === undefined) throw error;
          onUnusable(this.#nameOf(tool), error);
          return [];
        }
      }),
    );
  }

  /** The host hears of a list only if it could be read. Until then no changed tool runs. */
  onChange(): void {
    const reading = this.list().then(
      (tools) => this.#options.onToolsChanged?.(tools),
      (error: unknown) => {
        this.#digests = new Map();
        this.#options.onUnusable?.('*', error);
      },
    );
    this.#reading = reading;
    void reading.finally(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
  }

  #nameOf({ name }: ListedTool): string {
    const { prefix } = this.#options;
    return prefix === undefined ? name : `${prefix}__${name}`;
  }

  #govern(listed: ListedTool): AnyTool {
    const { trustAnnotations = false, overrides = {}, textLimit } = this.#options;
    const name = this.#nameOf(listed);
    const proposed = classifyListed(listed, { isTrusted: trustAnnotations });
    const digest = toolDigest(listed);
    return toolFromListed(listed, {
      name,
      server: quote(this.#client.getServerVersion?.()?.name ?? 'of this tool'),
      shape: 'value',
      // The runtime infers the same from the name, and records that it did.
      ...(proposed.origin === 'annotated' && { mode: proposed.mode }),
      ...(proposed.idempotent && { idempotent: true }),
      ...(textLimit !== undefined && { textLimit }),
      ...(Object.hasOwn(overrides, name) && { traits: overrides[name] ?? {} }),
      callTool: async (call, context) => {
        await this.#reading;
        if (this.#digests.get(listed.name) !== digest) throw changed(name);
        return callMcpTool(
          this.#client,
          {
            ...call,
            _meta: {
              'quittance/callId': context.callId,
              ...(context.traceparent !== undefined && { traceparent: context.traceparent }),
            },
          },
          { signal: context.signal, onprogress: (progress) => reportProgress(context, progress) },
        );
      },
    });
  }
}

function reportProgress(
  context: ToolContext,
  {
    message,
    progress,
    total,
  }: { readonly message?: unknown; readonly progress?: unknown; readonly total?: unknown },
): void {
  const fraction =
    typeof progress === 'number' && typeof total === 'number' && total > 0 ? progress / total : undefined;
  context.progress({
    ...(typeof message === 'string' && { message }),
    ...(fraction !== undefined && { fraction }),
  });
}

const changed = (name: string): ToolError =>
  new ToolError(
    'tool.reported_error',
    `The server changed or removed the tool ${quote(name)} after it was offered. It did not run.`,
    { retryable: false },
  );

const refuse = (message: string): QuittanceError =>
  new QuittanceError('config.invalid', `governMcp: ${message}`);
