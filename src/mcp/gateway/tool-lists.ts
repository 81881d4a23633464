/**
 * The lists of tools of all servers.
 *
 * 1. Answers of people are read before the tools are judged.
 * 2. A server that was started again may list other tools. It lists them before the next call.
 */
import { ToolError } from '../../call/tool-error.ts';
import type { ToolReviews } from '../review/tool-reviews.ts';
import { McpNotSent } from '../tools/call-error.ts';
import { toolDigest } from '../tools/listed-tool.ts';
import type { JudgedTool } from './governed-calls.ts';
import type { SendToServer } from './open-call.ts';
import { textOf } from './relayed-request.ts';
import type { CatalogTool, ToolCatalog } from './tool-catalog.ts';
import type { Upstream } from './upstream.ts';

export type ToolListsOptions = {
  readonly catalog: () => ToolCatalog;
  readonly reviews: ToolReviews | undefined;
  readonly log: (server: string, line: string) => void;
};

const mostPages = 100;

export class ToolLists {
  readonly #options: ToolListsOptions;
  /** The losses of each server when its tools were listed last. */
  readonly #listedAfter = new Map<string, number>();

  constructor(options: ToolListsOptions) {
    this.#options = options;
  }

  /** Lists the tools of a server again. `send`: over the connection of a client, if it has its own. */
  async refresh(upstream: Upstream, send?: SendToServer): Promise<void> {
    try {
      await this.#list(upstream, send);
    } catch (error) {
      this.#options.log(upstream.name, error instanceof Error ? error.message : String(error));
    }
  }

  /** Was the server started again since it listed its tools? */
  mustList({ name, losses }: Upstream): boolean {
    return (this.#listedAfter.get(name) ?? 0) !== losses;
  }

  /**
   * Throws unless the server still lists the tool as it was when the call was judged, or when a person was asked about
   * the call.
   */
  async requireUnchanged(
    { name, listed }: JudgedTool,
    upstream: Upstream,
    send: SendToServer,
  ): Promise<void> {
    if (this.mustList(upstream))
      try {
        await this.#list(upstream, send);
      } catch (error) {
        if (error instanceof McpNotSent) throw error;
        throw new McpNotSent(`The server "${upstream.name}" does not list its tools.`, { cause: error });
      }
    const current = this.#options.catalog().get(name)?.listed ?? listed;
    if (current !== listed && toolDigest(current) !== toolDigest(listed))
      throw new ToolError(
        'tool.reported_error',
        `The server changed the tool "${name}" after this call was accepted. The call did not run.`,
        { retryable: false },
      );
  }

  /** Takes over what a server listed. A whole list is kept for review. */
  async learn(
    { entry }: Upstream,
    listed: readonly unknown[],
    isWhole: boolean,
  ): Promise<readonly CatalogTool[]> {
    const { reviews } = this.#options;
    const catalog = this.#options.catalog();
    if (reviews !== undefined && (await reviews.refresh([entry.name]))) catalog.reconsider(entry);
    const seen = catalog.learn(entry, listed);
    if (reviews !== undefined && isWhole) {
      await reviews.note(
        entry,
        seen.map((tool) => tool.listed),
      );
    }
    return seen;
  }

  async #list(
    upstream: Upstream,
    send: SendToServer = (request, exchange) => upstream.send(request, exchange),
  ): Promise<void> {
    const { losses } = upstream;
    const all: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < mostPages; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await send({ method: 'tools/list', params }, noClient);
      all.push(...(Array.isArray(result['tools']) ? (result['tools'] as unknown[]) : []));
      cursor = textOf(result['nextCursor']);
      if (cursor === undefined) break;
    }
    await this.learn(upstream, all, true);
    this.#listedAfter.set(upstream.name, losses);
  }
}

const noClient = {
  signal: undefined,
  capabilities: {},
  envelope: undefined,
  headers: undefined,
  onProgress: undefined,
  onNotice: () => undefined,
  ask: () => Promise.reject(new Error('No client is connected that could answer.')),
};
