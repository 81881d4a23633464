/**
 * The lists of tools of all servers.
 *
 * 1. Answers of people are read before the tools are judged.
 * 2. A server that was started again may list other tools. It lists them before the next call.
 */
import { ProtocolError } from '@modelcontextprotocol/client';
import { ToolError } from 'quittance/internal/call/tool-error';
import type { ToolReviews } from '@quittance/server/internal/mcp-reviews/tool-reviews';
import { reviewedTexts } from '@quittance/server/internal/mcp-reviews/server-texts';
import { McpNotSent } from '../tools/call-error.ts';
import { toolDigest } from '@quittance/server/internal/mcp-reviews/listed-tool';
import type { JudgedTool } from './governed-calls.ts';
import type { SendToServer } from './open-call.ts';
import type { Fields } from './relayed-request.ts';
import { rpcCodes, textOf } from './relayed-request.ts';
import type { CatalogTool, ToolCatalog } from './tool-catalog.ts';
import type { Upstream } from './upstream.ts';

export type ToolListsOptions = {
  readonly catalog: () => ToolCatalog;
  readonly reviews: ToolReviews | undefined;
  readonly now: () => number;
  /** A list that a server announced was read. */
  readonly onListed: () => void;
  readonly log: (server: string, line: string) => void;
};

const mostPages = 100;
/** Changed lists of one server that are taken over at once, and how long the next one waits. */
const mostChanges = 20;
const changeEveryMs = 10_000;
/** Between two lists that a server caused by announcing changes. After a few, each doubles it, until it is quiet. */
const [leastPauseMs, mostPauseMs] = [1_000, 60_000];
/** A server that adds tools one by one announces each. */
const fewLists = 5;

type Pace = {
  /** Changes that may still be taken over, by `at`. */
  left: number;
  at: number;
  /** Lists since the server was quiet. */
  lists: number;
  listedAt: number;
  waiting: NodeJS.Timeout | undefined;
};

export class ToolLists {
  readonly #options: ToolListsOptions;
  /** The losses of each server when its tools were listed last. */
  readonly #listedAfter = new Map<string, number>();

  readonly #paces = new Map<string, Pace>();
  #isClosed = false;

  constructor(options: ToolListsOptions) {
    this.#options = options;
  }

  close(): void {
    this.#isClosed = true;
    for (const { waiting } of this.#paces.values()) clearTimeout(waiting);
  }

  /**
   * The server said that its tools have changed. Lists them again, at once if it seldom says so. One listing answers all
   * announcements before it.
   */
  announced(upstream: Upstream): void {
    const pace = this.#paceOf(upstream);
    if (pace.waiting !== undefined || this.#isClosed) return;
    const now = this.#options.now();
    const quietMs = now - pace.listedAt;
    pace.lists = quietMs > mostPauseMs ? 0 : pace.lists + 1;
    const pauseMs =
      pace.lists === 0 ? 0 : Math.min(mostPauseMs, leastPauseMs * 2 ** Math.max(0, pace.lists - fewLists));
    const list = (): void => {
      pace.waiting = undefined;
      pace.listedAt = this.#options.now();
      void this.refresh(upstream).finally(this.#options.onListed);
    };
    pace.waiting = setTimeout(list, Math.max(0, pauseMs - quietMs));
    pace.waiting.unref();
  }

  #paceOf({ name }: Upstream): Pace {
    const known = this.#paces.get(name);
    if (known !== undefined) return known;
    const pace: Pace = {
      left: mostChanges,
      at: this.#options.now(),
      lists: 0,
      listedAt: -Infinity,
      waiting: undefined,
    };
    this.#paces.set(name, pace);
    return pace;
  }

  /** Asked once for each list with a change. */
  #mayChange(upstream: Upstream): boolean {
    const pace = this.#paceOf(upstream);
    const now = this.#options.now();
    const gained = Math.max(0, Math.floor((now - pace.at) / changeEveryMs));
    pace.left = Math.min(mostChanges, pace.left + gained);
    pace.at = pace.left === mostChanges ? now : pace.at + gained * changeEveryMs;
    if (pace.left > 0) {
      pace.left -= 1;
      return true;
    }
    this.#options.log(
      upstream.name,
      'Its tools change again and again. The last change is taken over later.',
    );
    this.announced(upstream);
    return false;
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

  /** Reads what people answered. */
  async prepare(upstreams: readonly Upstream[]): Promise<void> {
    try {
      const { reviews, catalog } = this.#options;
      for (const { name, entry } of upstreams)
        if ((await reviews?.refresh([name])) === true) catalog().reconsider(entry);
    } catch (error) {
      this.#options.log('gateway', error instanceof Error ? error.message : String(error));
    }
  }

  /** Takes over what a server listed. A whole list is kept for review. */
  async learn(
    upstream: Upstream,
    listed: readonly unknown[],
    isWhole: boolean,
  ): Promise<readonly CatalogTool[]> {
    const { entry } = upstream;
    const { reviews } = this.#options;
    const catalog = this.#options.catalog();
    if (reviews !== undefined && (await reviews.refresh([entry.name]))) catalog.reconsider(entry);
    let may: boolean | undefined;
    const seen = await catalog.learn(entry, listed, () => (may ??= this.#mayChange(upstream)));
    if (reviews !== undefined && isWhole) {
      const instructions =
        upstream.factsFor('legacy')?.instructions ?? upstream.factsFor('modern')?.instructions;
      const texts = reviewedTexts(instructions, (capability) => upstream.can(capability));
      const version = reviews.versionOf(entry.name);
      await reviews.note(entry, [...seen.map((tool) => tool.listed), ...texts]);
      // A person may have answered since the tools were judged above.
      if (reviews.versionOf(entry.name) !== version) catalog.reconsider(entry);
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
      const result = await listTools(upstream, send, params);
      all.push(...(Array.isArray(result['tools']) ? (result['tools'] as unknown[]) : []));
      cursor = textOf(result['nextCursor']);
      if (cursor === undefined) break;
    }
    await this.learn(upstream, all, true);
    this.#listedAfter.set(upstream.name, losses);
  }
}

/** A server without tools may refuse to list them. It is reviewed for its prompts and resources. */
async function listTools(upstream: Upstream, send: SendToServer, params: Fields): Promise<Fields> {
  try {
    return await send({ method: 'tools/list', params }, noClient);
  } catch (error) {
    if (error instanceof ProtocolError && error.code === rpcCodes.methodNotFound && !upstream.can('tools'))
      return { tools: [] };
    throw error;
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
