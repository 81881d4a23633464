/**
 * What people answered about the tools of MCP servers.
 *
 * 1. An answer is bound to the digest of the tool's schema and description, and to the address of its server. A tool
 *    that changed, or that another server offers under the same name, has no valid answer.
 * 2. A change is a compare-and-set, so two processes never undo each other's answers.
 * 3. What cannot be read is not an answer.
 * 4. A blocked tool stays blocked when it changes, until a person answers again.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import { readJsonText } from 'quittance/internal/base/json';
import type { DirectIdentity } from 'quittance/internal/call/identity';
import { checkName } from 'quittance/internal/call/limits';
import { refuseRole } from 'quittance/internal/call/role';
import type { Documents } from 'quittance/internal/ledger/ledger';
import type { ToolMode } from 'quittance/internal/tool/mode';
import type { ServerEntry } from './server-entry.ts';
import type { ListedTool } from './listed-tool.ts';
import { classifyListed, proposeMode, toolDigest } from './listed-tool.ts';
import type {
  PastAnswer,
  ReviewContent,
  ReviewedServer,
  SeenServer,
  SeenTool,
  ToolAnswer,
  ToolChange,
  ToolVerdict,
} from './review-content.ts';
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
  | {
      readonly status: 'approved';
      readonly mode: ToolMode;
      /** A person decides about every call, whatever the mode says. */
      readonly asks: boolean;
      readonly digest: string;
    }
  | { readonly status: 'blocked'; readonly mode: ToolMode; readonly digest: string }
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
/** Changes remembered of one server, and answers remembered under one name. */
const mostChanges = 100;
const mostHistory = 500;

type Stored = ReviewContent & { readonly version: number };

export class ToolReviews {
  readonly #documents: Documents;
  readonly #now: () => number;
  readonly #stored = new Map<string, Stored>();
  /** The last list, and what it was made from: many callers ask for it often. */
  #listed: { readonly versions: string; readonly servers: readonly ListedServer[] } | undefined;

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

  /** Changes with what is known of a server. To store a list reads what others have stored since. */
  versionOf(server: string): number | undefined {
    return this.#stored.get(server)?.version;
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
          answers.set(key, this.#toAnswer(reviewed, tool, { verdict: 'allow', mode }));
      }
      const tools = listed.map(keptPart);
      const before = content.seen.get(reviewed.address);
      const all = new Map(content.seen).set(reviewed.address, {
        server: reviewed,
        tools,
        changes: [...(before?.changes ?? []), ...changesSince(before, tools, this.#now())].slice(
          -mostChanges,
        ),
      });
      const next = { ...content, answers, seen: new Map([...all].slice(-mostServers)) };
      return writeReviews(next) === writeReviews(content) ? undefined : next;
    });
  }

  /** The servers that gateways of this ledger listed, with the state of their tools. */
  async list(): Promise<readonly ListedServer[]> {
    const names = await this.#names();
    await this.refresh(names);
    const versions = names.map((name) => `${this.#stored.get(name)?.version} ${name}`).join('\n');
    if (this.#listed?.versions !== versions) this.#listed = { versions, servers: this.#judgeAll(names) };
    return this.#listed.servers;
  }

  #judgeAll(names: readonly string[]): readonly ListedServer[] {
    return names.flatMap((name) => {
      const content = this.#stored.get(name) ?? noReviews;
      return [...content.seen.values()].map(({ server, tools, changes }) => ({
        server,
        changes,
        tools: tools.map((listed) => ({
          listed,
          answer: findAnswer(server, listed, content),
          review: judge(server, listed, content),
          history: content.history.filter(
            (past) => past.server === server.address && past.tool === listed.name,
          ),
        })),
      }));
    });
  }

  /**
   * Stores the answer of a person about the tool that they saw. Throws `review.unknown` if no gateway listed such a
   * tool, and `review.mismatch` if the server lists another one by now.
   */
  async approve(answer: NewAnswer): Promise<void> {
    checkReviewer(answer.by, answer.identity);
    await this.#change(answer.server, (content) => {
      const found = content.seen.get(answer.address);
      const listed = found?.tools.find(({ name }) => name === answer.tool);
      if (found === undefined || listed === undefined)
        throw new QuittanceError('review.unknown', `${where(answer)} was not listed by a gateway yet.`, {
          server: answer.server,
          tool: answer.tool,
        });
      if (toolDigest(listed) !== answer.digest)
        throw new QuittanceError(
          'review.mismatch',
          `${where(answer)} changed after it was shown. Look at it again before you answer.`,
          { server: answer.server, tool: answer.tool },
        );
      const made = this.#toAnswer(found.server, listed, answer);
      return {
        ...content,
        answers: new Map(content.answers).set(answerKey(answer.address, answer.tool), made),
        history: [...content.history, toPast(made)].slice(-mostHistory),
      };
    });
  }

  /** Forgets the answer about a tool: it asks again. False if there was none. */
  async forget({ server, address, tool, by, identity }: Forgetting): Promise<boolean> {
    checkReviewer(by, identity);
    let found = false;
    await this.#change(server, (content) => {
      const answers = new Map(content.answers);
      const history = [...content.history];
      found = false;
      for (const [key, answer] of content.answers) {
        if (answer.listed.name !== tool || (address !== undefined && answer.server !== address)) continue;
        found = answers.delete(key) || found;
        history.push({ ...toPast(answer), verdict: 'forgotten', by, identity, at: this.#now() });
      }
      return found ? { ...content, answers, history: history.slice(-mostHistory) } : undefined;
    });
    return found;
  }

  #toAnswer(
    server: ReviewedServer,
    tool: ListedTool,
    { verdict, mode, by, identity }: AnswerTerms,
  ): ToolAnswer {
    return {
      verdict,
      mode,
      digest: toolDigest(tool),
      server: server.address,
      listed: keptPart(tool),
      by,
      identity,
      at: this.#now(),
    };
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

function checkReviewer(by: string, identity: DirectIdentity | undefined): void {
  checkName('An answer about a tool', by);
  refuseRole(identity, 'approver', 'answer about tools');
}

/** Without a person, the configuration gave the answer. */
type AnswerTerms = {
  readonly verdict: ToolVerdict;
  readonly mode: ToolMode;
  readonly by?: string;
  readonly identity?: DirectIdentity;
};

export type NewAnswer = AnswerTerms & {
  readonly server: string;
  /** Digest of its address. */
  readonly address: string;
  readonly tool: string;
  /** Digest of the tool that the person saw. */
  readonly digest: string;
  readonly by: string;
};

export type Forgetting = {
  readonly server: string;
  /** Only the answer about the server at this address. Undefined: about all servers of the name. */
  readonly address?: string;
  readonly tool: string;
  readonly by: string;
  readonly identity?: DirectIdentity;
};

export type ListedServer = {
  readonly server: ReviewedServer;
  readonly changes: readonly ToolChange[];
  readonly tools: readonly ListedServerTool[];
};

export type ListedServerTool = {
  readonly listed: ListedTool;
  readonly answer: ToolAnswer | undefined;
  readonly review: ToolReview;
  /** Answers of people about it, oldest first. */
  readonly history: readonly PastAnswer[];
};

const toPast = ({ listed, ...answer }: ToolAnswer): PastAnswer => ({ ...answer, tool: listed.name });

/** The differences to the last list. Nothing if there was none. */
function changesSince(
  before: SeenServer | undefined,
  tools: readonly SeenTool[],
  at: number,
): readonly ToolChange[] {
  if (before === undefined) return [];
  const digests = (list: readonly SeenTool[]): ReadonlyMap<string, string> =>
    new Map(list.map((tool) => [tool.name, toolDigest(tool)]));
  const [old, now] = [digests(before.tools), digests(tools)];
  const found: ToolChange[] = [];
  for (const [tool, digest] of now) {
    const known = old.get(tool);
    if (known !== digest) found.push({ tool, how: known === undefined ? 'added' : 'changed', at, digest });
  }
  for (const [tool, digest] of old) if (!now.has(tool)) found.push({ tool, how: 'removed', at, digest });
  return found;
}

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
  if (answer?.verdict === 'block') return { status: 'blocked', mode: answer.mode, digest };
  // An answer of the configuration ends with the setting that gave it.
  if (configured !== undefined && !isOurs)
    return { status: 'approved', mode: configured, asks: false, digest };
  if (answer === undefined || (answer.by === undefined && configured === undefined))
    return { status: 'unknown', proposed, digest };
  const { mode, listed: approved } = answer;
  if (answer.digest !== digest)
    return { status: 'changed', changed: 'tool', mode, approved, proposed, digest };
  if (!isOurs) return { status: 'changed', changed: 'server', mode, approved, proposed, digest };
  const asks = answer.verdict === 'ask';
  return { status: 'approved', mode: server.tools[listed.name]?.mode ?? mode, asks, digest };
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
