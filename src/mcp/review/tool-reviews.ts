/**
 * What people answered about the tools of MCP servers.
 *
 * 1. An answer is bound to the digest of the tool's schema and description, and to the address of its server. A tool
 *    that changed, or that another server offers under the same name, has no valid answer.
 * 2. A change is a compare-and-set, so two processes never undo each other's answers.
 * 3. What cannot be read is not an answer.
 */
import { QuittanceError } from '../../base/error.ts';
import { readJsonText } from '../../base/json.ts';
import type { Documents } from '../../ledger/documents.ts';
import type { ToolMode } from '../../tool/mode.ts';
import type { ServerEntry } from '../config/server-entry.ts';
import type { ListedTool } from '../tools/listed-tool.ts';
import { classifyListed, proposeMode, toolDigest } from '../tools/listed-tool.ts';
import type { ReviewContent, ReviewedServer, ToolAnswer } from './review-content.ts';
import {
  answerKey,
  keptPart,
  noReviews,
  parseReviews,
  toReviewedServer,
  writeReviews,
} from './review-content.ts';

/** The state of a tool. */
export type ToolReview =
  | { readonly status: 'approved'; readonly mode: ToolMode; readonly digest: string }
  | { readonly status: 'unknown'; readonly proposed: ToolMode; readonly digest: string }
  | {
      /** The tool or its server is another one than the person saw. */
      readonly status: 'changed';
      readonly changed: 'tool' | 'server';
      /** The mode and the tool of the answer. */
      readonly mode: ToolMode;
      readonly approved: ListedTool;
      readonly proposed: ToolMode;
      readonly digest: string;
    };

const indexName = 'mcp';
const documentName = (server: string): string => `mcp/${server}`;
/** Servers remembered under one name. */
const mostServers = 20;

type Stored = ReviewContent & { readonly version: number };

export class ToolReviews {
  readonly #documents: Documents;
  readonly #now: () => number;
  readonly #stored = new Map<string, Stored>();

  constructor(documents: Documents, now: () => number) {
    this.#documents = documents;
    this.#now = now;
  }

  /** Reads the answers about these servers. True if any changed since the last time. */
  async refresh(servers: readonly string[]): Promise<boolean> {
    let hasChanged = false;
    for (const server of servers) {
      const known = this.#stored.get(server);
      const { version, text } = await this.#documents.read(documentName(server), known?.version);
      if (known !== undefined && version === known.version) continue;
      this.#stored.set(server, { version, ...(text === undefined ? noReviews : parseReviews(text, server)) });
      hasChanged ||= known !== undefined || version > 0;
    }
    return hasChanged;
  }

  /** The state of a tool, by the last refresh. */
  read(server: ServerEntry, listed: ListedTool): ToolReview {
    return judge(toReviewedServer(server), listed, this.#stored.get(server.name) ?? noReviews);
  }

  /**
   * Stores a list that a gateway received, so that people can review it without a connection. Tools that the
   * configuration settles are bound to what they are now, so a later change is noticed.
   */
  async note(server: ServerEntry, listed: readonly ListedTool[]): Promise<void> {
    const reviewed = toReviewedServer(server);
    await this.#change(server.name, (content) => {
      const answers = new Map(content.answers);
      for (const tool of listed) {
        const mode = configuredMode(reviewed, tool);
        const key = answerKey(reviewed.address, tool.name);
        // Only a person can replace an answer, or accept a change.
        if (mode !== undefined && !answers.has(key))
          answers.set(key, this.#toAnswer(reviewed, tool, mode, undefined));
      }
      const all = new Map(content.seen).set(reviewed.address, {
        server: reviewed,
        tools: listed.map(keptPart),
      });
      const next = { answers, seen: new Map([...all].slice(-mostServers)) };
      return writeReviews(next) === writeReviews(content) ? undefined : next;
    });
  }

  /** The servers that gateways of this ledger listed, with the state of their tools. */
  async list(): Promise<readonly ListedServer[]> {
    const names = await this.#names();
    await this.refresh(names);
    return names.flatMap((name) => {
      const content = this.#stored.get(name) ?? noReviews;
      return [...content.seen.values()].map(({ server, tools }) => ({
        server,
        tools: tools.map((listed) => ({
          listed,
          answer: findAnswer(server, listed, content),
          review: judge(server, listed, content),
        })),
      }));
    });
  }

  /**
   * Stores the answer of a person about the tool that they saw. Throws `config.invalid` if the server lists another
   * one by now, or no such tool.
   */
  async approve(answer: NewAnswer): Promise<void> {
    await this.#change(answer.server, (content) => {
      const found = content.seen.get(answer.address);
      const listed = found?.tools.find(({ name }) => name === answer.tool);
      if (found === undefined || listed === undefined)
        throw new QuittanceError('config.invalid', `${where(answer)} was not listed by a gateway yet.`);
      if (toolDigest(listed) !== answer.digest)
        throw new QuittanceError(
          'config.invalid',
          `${where(answer)} changed after it was shown. Look at it again before you answer.`,
        );
      const key = answerKey(answer.address, answer.tool);
      const made = this.#toAnswer(found.server, listed, answer.mode, answer.by);
      return { ...content, answers: new Map(content.answers).set(key, made) };
    });
  }

  /** Forgets the answer about a tool: it asks again. False if there was none. */
  async forget(server: string, tool: string): Promise<boolean> {
    let found = false;
    await this.#change(server, (content) => {
      const answers = new Map(content.answers);
      for (const [key, { listed }] of content.answers)
        if (listed.name === tool) found = answers.delete(key) || found;
      return found ? { ...content, answers } : undefined;
    });
    return found;
  }

  #toAnswer(server: ReviewedServer, tool: ListedTool, mode: ToolMode, by: string | undefined): ToolAnswer {
    const listed = keptPart(tool);
    return { mode, digest: toolDigest(tool), server: server.address, listed, by, at: this.#now() };
  }

  async #change(
    server: string,
    change: (content: ReviewContent) => ReviewContent | undefined,
  ): Promise<void> {
    for (;;) {
      await this.refresh([server]);
      const { version, ...content } = this.#stored.get(server) ?? { version: 0, ...noReviews };
      const next = change(content);
      if (next === undefined) return;
      if (version === 0) await this.#addName(server);
      if (await this.#documents.replace(documentName(server), version, writeReviews(next))) break;
    }
    await this.refresh([server]);
  }

  async #names(): Promise<readonly string[]> {
    return parseNames((await this.#documents.read(indexName)).text);
  }

  async #addName(server: string): Promise<void> {
    for (;;) {
      const { version, text } = await this.#documents.read(indexName);
      const names = parseNames(text);
      if (names.includes(server)) return;
      const next = JSON.stringify([...names, server].toSorted());
      if (await this.#documents.replace(indexName, version, next)) return;
    }
  }
}

export type NewAnswer = {
  readonly server: string;
  /** Digest of its address. */
  readonly address: string;
  readonly tool: string;
  /** Digest of the tool that the person saw. */
  readonly digest: string;
  readonly mode: ToolMode;
  readonly by: string;
};

export type ListedServer = {
  readonly server: ReviewedServer;
  readonly tools: readonly {
    readonly listed: ListedTool;
    readonly answer: ToolAnswer | undefined;
    readonly review: ToolReview;
  }[];
};

/** The answer about this tool of this server; else one about a tool of that name of another server. */
function findAnswer(
  server: ReviewedServer,
  { name }: ListedTool,
  { answers }: ReviewContent,
): ToolAnswer | undefined {
  const own = answers.get(answerKey(server.address, name));
  return own ?? [...answers.values()].find(({ listed, by }) => listed.name === name && by !== undefined);
}

function judge(server: ReviewedServer, listed: ListedTool, content: ReviewContent): ToolReview {
  const digest = toolDigest(listed);
  const proposed = proposeMode(listed, server);
  const configured = configuredMode(server, listed);
  const answer = findAnswer(server, listed, content);
  const isOurs = answer?.server === server.address;
  // An answer of the configuration ends with the setting that gave it.
  if (configured !== undefined && !isOurs) return { status: 'approved', mode: configured, digest };
  if (answer === undefined || (answer.by === undefined && configured === undefined))
    return { status: 'unknown', proposed, digest };
  const { mode, listed: approved } = answer;
  if (answer.digest !== digest)
    return { status: 'changed', changed: 'tool', mode, approved, proposed, digest };
  if (!isOurs) return { status: 'changed', changed: 'server', mode, approved, proposed, digest };
  return { status: 'approved', mode: server.tools[listed.name]?.mode ?? mode, digest };
}

/** The mode that the configuration gives a tool: by name, or by trust if the tool says enough about itself. */
function configuredMode(server: ReviewedServer, listed: ListedTool): ToolMode | undefined {
  const set = server.tools[listed.name]?.mode;
  if (set !== undefined || !server.isTrusted) return set;
  const { mode, origin } = classifyListed(listed, server);
  return origin === 'default' ? undefined : mode;
}

const where = ({ server, tool }: NewAnswer): string => `The tool ${JSON.stringify(`${server}/${tool}`)}`;

function parseNames(text: string | undefined): readonly string[] {
  const value = text === undefined ? [] : readJsonText(text);
  return Array.isArray(value) ? value.filter((name): name is string => typeof name === 'string') : [];
}
