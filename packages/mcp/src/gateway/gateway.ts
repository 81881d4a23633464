/** The gateway: servers behind it, clients in front of it, and one runtime that makes the calls of their tools. */
import type { Redactor } from 'quittance/internal/base/redaction';
import { createRedactor } from 'quittance/internal/base/redaction';
import { ProtocolError } from '@modelcontextprotocol/client';
import type { Ids } from 'quittance/internal/base/ids';
import { createIds } from 'quittance/internal/base/ids';
import type { QuietHours } from 'quittance/internal/base/quiet-hours';
import { safeText } from 'quittance/internal/base/safe-text';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { readArtifactName, createReadArtifact } from 'quittance/internal/runtime/read-artifact';
import type { LoadedContracts } from 'quittance/internal/contracts/loaded-contracts';
import type { Telemetry } from 'quittance/internal/runtime/telemetry';
import type { GatewayConfig, ServerEntry } from '@quittance/server/internal/mcp-reviews/server-entry';
import type { Offer } from '@quittance/server/internal/mcp-reviews/server-texts';
import { isShown, shownInstructions } from '@quittance/server/internal/mcp-reviews/server-texts';
import type { ToolReviews } from '@quittance/server/internal/mcp-reviews/tool-reviews';
import type { GatewayBoard } from '@quittance/server/internal/mcp-reviews/gateway-board';
import type { ServerReport } from '@quittance/server/internal/mcp-reviews/gateway-report';
import { CallSessions } from './call-sessions.ts';
import type { Caller, ClientRequest } from './client-request.ts';
import type { ServerFacts } from './connection.ts';
import { isAboutLists } from './connection.ts';
import { GovernedCalls } from './governed-calls.ts';
import type { ProtectedFiles } from 'quittance/internal/runtime/own-files';
import { GatewayTasks } from './gateway-tasks.ts';
import { HeldCalls } from './held-calls.ts';
import type { Era, Fields, RelayedRequest } from './relayed-request.ts';
import { toFields, rpcCodes, textOf, isFields } from './relayed-request.ts';
import type { SendToServer } from './open-call.ts';
import { OpenRequests } from './open-requests.ts';
import { ResourceOwners } from './resource-owners.ts';
import { StateSigner } from './signed-state.ts';
import type { CatalogTool } from './tool-catalog.ts';
import { ToolCatalog } from './tool-catalog.ts';
import { ServerNames } from './server-names.ts';
import { ToolLists } from './tool-lists.ts';
import { Upstream } from './upstream.ts';
import { UpstreamTokens } from './upstream-tokens.ts';
import { quoteName } from './wire.ts';
import { TOOL_MESSAGE_MAX_CHARS } from 'quittance/internal/call/outcome';
import { neededToCall } from 'quittance/internal/call/role';
import { parseArtifactUri, readArtifactResource } from '../tools/artifact-resource.ts';
import { toReviewedServer } from '@quittance/server/internal/mcp-reviews/review-content';
import { cutText } from 'quittance/internal/base/cut-text';
import { isJsonObject } from 'quittance/internal/base/json';
import { createKnownSecrets } from 'quittance/internal/base/known-secrets';

export type GatewayOptions = {
  readonly config: GatewayConfig;
  readonly ledger: OpenLedger;
  readonly contracts?: LoadedContracts;
  /** As in `createRuntime`: the configuration of the gateway and of its clients. */
  readonly protectedFiles?: ProtectedFiles;
  /** As in `createRuntime`. */
  readonly quietHours?: readonly QuietHours[];
  /** Traces and metrics of calls, e.g. `openTelemetry()` of `@quittance/opentelemetry`. */
  readonly telemetry?: Telemetry;
  /** What people answered about tools. Without it, only tools that nothing is known about ask. */
  readonly reviews?: ToolReviews;
  /** Takes the reports of the gateway for other processes, such as `quittance serve`. */
  readonly board?: GatewayBoard;
  readonly version: string;
  /** Where people decide about held calls: the address of `quittance serve`. */
  readonly consoleUrl?: string;
  /** Which tools a caller may see and call. Default: all. */
  readonly mayUse?: (caller: Caller, tool: CatalogTool) => boolean;
  /** The file with the sign-ins of `quittance mcp login`. Without it, servers that want a sign-in cannot be used. */
  readonly tokenFile?: string;
  /** Receives lines for the operator. */
  readonly log?: (server: string, line: string) => void;
  readonly ids?: Ids;
};

export type GatewayStatus = {
  readonly servers: readonly (ServerReport & { readonly tools: number })[];
  readonly openCalls: number;
  readonly clients: number;
};

/** A connected client, as far as the gateway tells it about changes. */
interface ConnectedClient {
  /** The name that the client gave itself. */
  readonly clientName: string | undefined;
  tell(notice: RelayedRequest): void;
  close(): Promise<void>;
}

export class Gateway {
  readonly upstreams: readonly Upstream[];
  readonly names: ServerNames;
  readonly catalog: ToolCatalog;
  readonly log: (server: string, line: string) => void;
  /** As the runtimes of the gateway have it. */
  readonly redactor: Redactor = createRedactor();
  readonly #options: GatewayOptions;
  readonly #me: Fields;
  readonly #faces = new Set<ConnectedClient>();
  readonly #calls: GovernedCalls;
  readonly #held: HeldCalls;
  readonly #tasks: GatewayTasks;
  readonly openRequests: OpenRequests;
  readonly owners: ResourceOwners = new ResourceOwners();
  readonly #sessions: CallSessions;
  readonly #readArtifact: Fields;
  readonly #reporters: readonly (() => ServerReport)[];
  readonly #listeners = new Set<(notice: RelayedRequest) => void>();
  readonly #lists: ToolLists;
  readonly #pace = new NoticePace();
  readonly #paces = new WeakMap<ConnectedClient, NoticePace>();
  #takingOver: NodeJS.Immediate | undefined;
  #isClosed = false;
  #nextId = 0;

  constructor(options: GatewayOptions) {
    const { config, ledger, contracts, version } = options;
    this.#options = options;
    const { log = () => undefined } = options;
    // Servers write lines of it.
    this.log = (server, line) => log(server, this.redactor.text(line));
    this.#me = { name: 'quittance', title: 'Quittance', version };
    const entries = config.servers.filter(({ isDisabled }) => !isDisabled);
    this.names = new ServerNames(entries.map(({ name }) => name));
    const signIns = options.tokenFile === undefined ? undefined : new UpstreamTokens(options.tokenFile);
    this.upstreams = entries.map(
      (entry) =>
        new Upstream(entry, {
          me: this.#me,
          nextId: () => (this.#nextId += 1),
          now: () => ledger.now(),
          signIns,
          speaks: { hasOthers: entries.length > 1, consoleUrl: options.consoleUrl, redactor: this.redactor },
          log: this.log,
          onNotice: (upstream, notice) => this.noticed(upstream, notice, undefined),
        }),
    );
    this.#reporters = this.upstreams.map((upstream) =>
      createServerReporter(upstream, this.names.prefixOf(upstream.name)),
    );
    const sessions = new CallSessions(ledger);
    this.#sessions = sessions;
    this.#readArtifact = listReadArtifact(ledger);
    const signer = new StateSigner(ledger.sealKey, () => ledger.now());
    this.#lists = new ToolLists({
      catalog: () => this.catalog,
      reviews: options.reviews,
      now: () => ledger.now(),
      onListed: () => this.#tellAll({ method: 'notifications/tools/list_changed' }),
      log: this.log,
    });
    this.openRequests = new OpenRequests(signer, () => ledger.now());
    this.#held = new HeldCalls({
      ledger,
      sessions,
      catalog: () => this.catalog,
      consoleUrl: options.consoleUrl,
      askInClient: config.askInClient ?? [],
      toResult: (sessionId, outcome) => this.#calls.toResult(sessionId, outcome),
      takeOver: () => this.#takeOverSoon(),
      tellTask: (call) => this.#tasks.tell(call),
    });
    this.#tasks = new GatewayTasks({
      ledger,
      signer,
      catalog: () => this.catalog,
      findOpen: (sessionId, callId) => this.#calls.find(sessionId, callId),
      toResult: (sessionId, outcome) => this.#calls.toResult(sessionId, outcome),
      takeOver: () => this.#takeOverSoon(),
      signState: (call) => this.#calls.signState(call),
    });
    this.#calls = new GovernedCalls({
      ledger,
      ids: options.ids ?? createIds(),
      sessions,
      signer,
      catalog: () => this.catalog,
      awaitDecision: (held) => this.#held.awaitDecision(held),
      tellTask: (call) => this.#tasks.tell(call),
      mediaLimit: config.mediaLimit,
      sendDetached: (server) => (request, exchange) => this.#upstream(server).send(request, exchange),
      requireUnchanged: (tool, send) => this.#lists.requireUnchanged(tool, this.#upstream(tool.server), send),
    });
    this.catalog = new ToolCatalog({
      ledger,
      contracts,
      protectedFiles: options.protectedFiles,
      quietHours: options.quietHours ?? [],
      telemetry: options.telemetry,
      names: this.names,
      reviews: options.reviews,
      observe: config.observe,
      callTool: this.#calls.callUpstream,
      textLimit: config.textLimit,
      log: this.log,
      onReplaced: () => this.#takeOverSoon(),
      onReconsidered: () => this.#tellAll({ method: 'notifications/tools/list_changed' }),
    });
  }

  /** The servers that this caller may see. */
  upstreamsFor(caller: Caller): readonly Upstream[] {
    return this.upstreams.filter(({ entry }) => isFor(entry.onlyFor, caller));
  }

  /** Reads what people answered, before a client learns what the servers say about themselves. */
  prepare(caller: Caller): Promise<void> {
    return this.#lists.prepare(this.upstreamsFor(caller));
  }

  /** Do clients get the prompts or the resources of this server? Reads what people answered. */
  async offers(upstream: Upstream, offer: Offer): Promise<boolean> {
    await this.#lists.prepare([upstream]);
    const { reviews, config } = this.#options;
    return isShown(upstream.entry, offer, { reviews, observe: config.observe });
  }

  /** The gateway as this client sees it. */
  facts(era: Era, caller: Caller): ServerFacts {
    const { reviews, config } = this.#options;
    const servers = this.upstreamsFor(caller).map((each) => {
      const facts = each.factsFor(era);
      const shown = { reviews, observe: config.observe };
      const instructions = shownInstructions(each.entry, facts?.instructions, shown);
      const hidden = instructions === undefined ? undefined : this.redactor.text(instructions);
      return { server: each.name, facts: facts && { ...facts, instructions: hidden } };
    });
    return gatewayFacts(servers, this.#me, { era, readsOnly: caller.readsOnly });
  }

  status(): GatewayStatus {
    const tools = this.catalog.list();
    return {
      servers: this.serverReports().map((report) => ({
        ...report,
        tools: tools.filter(({ server }) => server === report.name).length,
      })),
      openCalls: this.#calls.openCount,
      clients: this.#faces.size,
    };
  }

  serverReports(): readonly ServerReport[] {
    return this.#reporters.map((report) => report());
  }

  clientNames(): readonly string[] {
    return [...new Set([...this.#faces].flatMap(({ clientName }) => clientName ?? []))].toSorted();
  }

  remember(face: ConnectedClient): void {
    this.#faces.add(face);
  }

  forget(face: ConnectedClient): void {
    this.#faces.delete(face);
  }

  /** Calls back on changes of lists and resources, for clients that listen. */
  onChange(listener: (notice: RelayedRequest) => void): void {
    this.#listeners.add(listener);
  }

  /** Asks the servers with resources to report changes of this one. */
  watch(uri: string, caller: Caller): void {
    if (caller.readsOnly) return;
    for (const upstream of this.upstreamsFor(caller))
      if (toFields(upstream.factsFor('modern')?.capabilities['resources'])['subscribe'] === true)
        void upstream.watch(uri).catch(() => undefined); // another server may own it
  }

  /** A notice that belongs to no request. `only`: the client whose connection it came on. */
  noticed(upstream: Upstream, notice: RelayedRequest, only: ConnectedClient | undefined): void {
    const kind = JSON.stringify([upstream.name, notice.method, notice.params?.['uri']]);
    if (only !== undefined) {
      // This client lists again over its own connection.
      if (isAboutLists(notice.method)) paceOf(only, this.#paces).pass(kind, () => only.tell(notice));
      else only.tell(notice);
      return;
    }
    // Clients list the tools again once the gateway has done so.
    if (notice.method === 'notifications/tools/list_changed') this.#lists.announced(upstream);
    else this.#pace.pass(kind, () => this.#tellAll(notice));
  }

  /** Connects to all servers, learns their tools, and takes over the calls of processes that are gone. */
  async start(): Promise<void> {
    await Promise.all(this.upstreams.map((upstream) => this.#lists.refresh(upstream)));
    await this.#takeOver();
  }

  /** The same over the connections of a client that has its own, once it is served. */
  async startFor(sendTo: (upstream: Upstream) => SendToServer): Promise<void> {
    try {
      await Promise.all(this.upstreams.map((upstream) => this.#lists.refresh(upstream, sendTo(upstream))));
      await this.#takeOver();
    } catch (error) {
      this.log('gateway', wordsOf(error));
    }
  }

  /** Goes on with the calls of processes that are gone, and of runtimes that were replaced. */
  async #takeOver(): Promise<void> {
    if (this.#isClosed) return;
    const { runtime, release } = this.catalog.use();
    try {
      await runtime.recover();
    } finally {
      release();
    }
  }

  /** In the background. Several reasons at once need one pass. */
  #takeOverSoon(): void {
    if (this.#isClosed || this.#takingOver !== undefined) return;
    this.#takingOver = setImmediate(() => {
      this.#takingOver = undefined;
      this.#takeOver().catch((error: unknown) => this.log('gateway', wordsOf(error)));
    });
  }

  /** Applies answers that people gave since the last look. Clients then list the tools again. */
  async applyReviews(): Promise<void> {
    const { reviews } = this.#options;
    if (reviews === undefined) return;
    for (const upstream of this.upstreams) {
      if (!(await reviews.refresh([upstream.name]))) continue;
      this.catalog.reconsider(upstream.entry);
    }
  }

  /** The listed tools that this caller may see, under the names that clients use. */
  async showTools(
    upstream: Upstream,
    listed: readonly unknown[],
    isWhole: boolean,
    caller: Caller,
  ): Promise<readonly unknown[]> {
    const seen = await this.#lists.learn(upstream, listed, isWhole);
    return seen
      .filter((tool) => tool.review.status !== 'blocked' && this.#mayUse(caller, tool))
      .map(({ name, shown }) => ({ ...shown, name }));
  }

  #mayUse(caller: Caller, tool: CatalogTool): boolean {
    if (caller.readsOnly && neededToCall(tool.tool) === 'operator') return false;
    if (!isFor(this.#upstream(tool.server).entry.onlyFor, caller)) return false;
    if (!isFor(tool.setting.onlyFor, caller)) return false;
    return this.#options.mayUse?.(caller, tool) ?? true;
  }

  ownTools(): readonly unknown[] {
    return [...this.#held.tools(), this.#readArtifact];
  }

  async callTool(
    params: Fields,
    client: ClientRequest,
    sendTo: (upstream: Upstream) => SendToServer,
  ): Promise<Fields> {
    const name = textOf(params['name']) ?? '';
    const own = await this.#held.callTool(name, params, client);
    if (own !== undefined) return own;
    if (name === readArtifactName) return this.#calls.callOwn(name, params, client);
    const known = await this.#currentTool(name);
    const upstream = known && this.#upstream(known.server);
    // The call is judged by what the server lists since it was started again.
    if (upstream !== undefined && this.#lists.mustList(upstream)) {
      await this.#lists.refresh(upstream, sendTo(upstream));
      this.#tellAll({ method: 'notifications/tools/list_changed' });
    }
    const tool = this.catalog.get(name);
    const mayUse = tool !== undefined && this.#mayUse(client.caller, tool);
    if (tool !== undefined && !mayUse)
      this.log(
        'client',
        `${safeText(client.caller.id)} called the tool ${quoteName(name)}, which this caller may not use. The call was refused.`,
      );
    if (upstream === undefined || !mayUse)
      throw new ProtocolError(rpcCodes.invalidParams, `Unknown tool: ${name}`);
    return this.#calls.call(tool, params, client, sendTo(upstream));
  }

  #tellAll(notice: RelayedRequest): void {
    for (const face of this.#faces) face.tell(notice);
    for (const listener of this.#listeners) listener(notice);
  }

  /** A person may have answered about a tool that asks. */
  async #currentTool(name: string): Promise<CatalogTool | undefined> {
    const tool = this.catalog.get(name) ?? (await this.#findTool(name));
    if (tool === undefined || tool.review.status === 'approved' || this.#options.reviews === undefined)
      return tool;
    if (await this.#options.reviews.refresh([tool.server]))
      this.catalog.reconsider(this.#upstream(tool.server).entry);
    return this.catalog.get(name);
  }

  /** A client may call a tool that it listed in an earlier life of the gateway. */
  async #findTool(name: string): Promise<CatalogTool | undefined> {
    const found = this.names.toServer(name);
    const upstream = this.upstreams.find((each) => each.name === found?.server);
    if (upstream === undefined) return undefined;
    await this.#lists.refresh(upstream);
    return this.catalog.get(name);
  }

  /** Requests that the gateway answers itself: artifacts, and tasks. */
  async handleOwn(request: RelayedRequest, client: ClientRequest): Promise<Fields | undefined> {
    const { ledger } = this.#options;
    return (
      (await readArtifactUri(ledger, request, client, this.#sessions)) ?? this.#tasks.handle(request, client)
    );
  }

  #upstream(server: string): Upstream {
    const found = this.upstreams.find(({ name }) => name === server);
    if (found === undefined) throw new TypeError(`There is no server "${server}".`);
    return found;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearImmediate(this.#takingOver);
    this.#calls.close();
    this.#lists.close();
    this.#pace.close();
    this.openRequests.close();
    await this.#calls.drain();
    for (const face of this.#faces) await face.close();
    await Promise.all(this.upstreams.map((upstream) => upstream.close()));
    await this.catalog.close();
  }
}

function paceOf(client: ConnectedClient, paces: WeakMap<ConnectedClient, NoticePace>): NoticePace {
  const pace = paces.get(client) ?? new NoticePace();
  paces.set(client, pace);
  return pace;
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Which callers see a server or a tool. Without a list, all do. */

/** `user:` and the id of a person, or `group:` and a group. The two are apart: a person may choose a name. */
function isFor(onlyFor: readonly string[] | undefined, { principal, groups = [] }: Caller): boolean {
  if (onlyFor === undefined) return true;
  const { userId } = principal;
  return (
    (userId !== undefined && onlyFor.includes(`user:${userId}`)) ||
    groups.some((group) => onlyFor.includes(`group:${group}`))
  );
}

/**
 * Notices about lists and resources, which make clients ask again. The first one of a kind passes at once. Those that
 * follow within a second are passed on as one, so a server that repeats them without end costs a message a second.
 */
const everyMs = 1_000;
/** More kinds at once are dropped: a server could name ever new resources. */
const mostKinds = 1_000;

export class NoticePace {
  /** What to do when the second is over. */
  readonly #waiting = new Map<string, { timer: NodeJS.Timeout; again: (() => void) | undefined }>();

  pass(kind: string, tell: () => void): void {
    const waiting = this.#waiting.get(kind);
    if (waiting !== undefined) {
      waiting.again = tell;
      return;
    }
    if (this.#waiting.size >= mostKinds) return;
    tell();
    const timer = setTimeout(() => {
      const again = this.#waiting.get(kind)?.again;
      this.#waiting.delete(kind);
      if (again !== undefined) this.pass(kind, again);
    }, everyMs);
    timer.unref();
    this.#waiting.set(kind, { timer, again: undefined });
  }

  close(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }
}

/** How clients read what was too large for a result: the tool `read_artifact`, and resources behind `resource_link`. */

/** The tool as clients see it. Every runtime has it. */
function listReadArtifact(ledger: OpenLedger): Fields {
  const { name, displayName, description, input } = createReadArtifact(ledger, TOOL_MESSAGE_MAX_CHARS);
  return {
    name,
    title: displayName,
    description,
    inputSchema: input.jsonSchema,
    annotations: { readOnlyHint: true },
  };
}

/** Undefined if the request is not for an artifact. A caller reads only artifacts of their own sessions. */
async function readArtifactUri(
  ledger: OpenLedger,
  { method, params }: RelayedRequest,
  { caller }: ClientRequest,
  sessions: CallSessions,
): Promise<Fields | undefined> {
  const uri = textOf(params?.['uri']) ?? '';
  if (method !== 'resources/read' || parseArtifactUri(uri) === undefined) return undefined;
  const contents = await readArtifactResource(ledger, uri, (sessionId) => sessions.isOf(sessionId, caller));
  if (contents === undefined) throw new ProtocolError(rpcCodes.invalidParams, `Unknown resource: ${uri}`);
  return { contents: [contents] };
}

/** Reports the state of one server for people, without secrets. */

/** `prefix`: comes before the names of its tools. */
function createServerReporter(upstream: Upstream, prefix: string): () => ServerReport {
  const { entry } = upstream;
  const { name, address, isTrusted } = toReviewedServer(entry);
  const place = shownAddress(entry);
  return () => {
    const { server: _, lastError, ...state } = upstream.status();
    return {
      name,
      address,
      transport: entry.type,
      place,
      isTrusted,
      prefix,
      ...state,
      lastError: lastError && shownError(entry, lastError),
    };
  };
}

/** The address and the errors of a server for people, without secrets. */

const longestAddress = 500;
const longestError = 600;
/** Shorter values of variables and headers, such as "true", are not secrets. */
const shortestSecret = 6;
/** Some services put a secret in the path of their URL. */
const opaqueStep = /^(?=.*\d)[\w~+=.-]{16,}$/;

/** The command line or the URL. */
export const shownAddress = (entry: ServerEntry): string =>
  cutText(
    hideOwnValues(entry, entry.type === 'stdio' ? commandLine(entry) : shownUrl(entry.url)),
    longestAddress,
  );

/** What a server or its connection reported. It may repeat a header, a variable or the URL. */
export const shownError = (entry: ServerEntry, text: string): string =>
  cutText(createRedactor().text(hideOwnValues(entry, text)), longestError);

function commandLine({
  command,
  args,
}: {
  readonly command: string;
  readonly args: readonly string[];
}): string {
  const { value } = createRedactor().input({ command, args: [...args] });
  const shown = isJsonObject(value) && Array.isArray(value['args']) ? value['args'] : [];
  return [command, ...shown].map((word) => shellWord(String(word))).join(' ');
}

function shownUrl({ origin, pathname, search }: URL): string {
  const steps = pathname.split('/').map((step) => (opaqueStep.test(step) ? '…' : step));
  return `${origin}${steps.join('/')}${search === '' ? '' : '?…'}`;
}

function hideOwnValues(entry: ServerEntry, text: string): string {
  return createKnownSecrets(
    entry.type === 'stdio' ? Object.values(entry.env) : urlSecrets(entry),
    shortestSecret,
  ).text(text);
}

const urlSecrets = ({ url, headers }: Extract<ServerEntry, { url: URL }>): readonly string[] => [
  ...Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]),
  ...url.searchParams.values(),
  ...url.pathname.split('/').filter((step) => opaqueStep.test(step)),
  url.username,
  url.password,
];

const shellWord = (word: string): string => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word));

/** What the gateway says about itself to clients. A single server shows through; several are summed up. */

type NamedFacts = { readonly server: string; readonly facts: ServerFacts | undefined };

type Seen = { readonly era: Era; readonly readsOnly: boolean };

function gatewayFacts(servers: readonly NamedFacts[], me: Fields, face: Seen): ServerFacts {
  const [only] = servers;
  if (servers.length === 1 && only?.facts !== undefined) {
    const { info, capabilities, instructions } = only.facts;
    return {
      // Named by its key in the configuration: a server may call itself anything.
      info: { name: only.server, version: safeText(textOf(info['version']) ?? '0').slice(0, 100) },
      capabilities: withOwn(withoutOurNames(capabilities), face),
      instructions,
    };
  }
  const known = servers.flatMap(({ facts }) => facts ?? []);
  // The lines of one server cannot look like the head of the next one.
  const texts = servers.flatMap(({ server, facts }) =>
    facts?.instructions === undefined ? [] : [`# ${server}\n${facts.instructions.replaceAll(/^/gm, '> ')}`],
  );
  // A server that is not up yet may still bring tools.
  const capabilities = known.reduce<Fields>(
    (sum, { capabilities: own }) => merge(sum, withoutOurNames(own)),
    { tools: {} },
  );
  return {
    info: me,
    capabilities: withOwn(capabilities, face),
    instructions: texts.length === 0 ? undefined : texts.join('\n\n'),
  };
}

/**
 * Restarts change the list of tools, also if the server itself never does. Held calls are tasks for modern clients. The
 * gateway makes the tasks of legacy servers itself.
 */
function withOwn(given: Fields, { era, readsOnly }: Seen): Fields {
  const { tasks: _, ...rest } = given;
  const capabilities = readsOnly ? onlyReading(rest) : rest;
  const { tools, extensions } = capabilities;
  if (tools === undefined) return capabilities;
  const own = { ...capabilities, tools: { ...toFields(tools), listChanged: true } };
  if (era === 'legacy') return own;
  return { ...own, extensions: { ...toFields(extensions), 'io.modelcontextprotocol/tasks': {} } };
}

/** A server has no feature of this gateway, whatever it declares. */
const withoutOurNames = (capabilities: Fields): Fields =>
  Object.fromEntries(
    Object.entries(capabilities).map(([key, value]) => [
      key,
      (key === 'experimental' || key === 'extensions') && isFields(value)
        ? Object.fromEntries(Object.entries(value).filter(([name]) => !/^quittance(?:\/|$)/i.test(name)))
        : value,
    ]),
  );

/** A viewer changes nothing at a server: no log level, and no subscriptions. */
function onlyReading(capabilities: Fields): Fields {
  const { logging: _, resources, ...rest } = capabilities;
  if (resources === undefined) return rest;
  const { subscribe: __, ...reading } = toFields(resources);
  return { ...rest, resources: reading };
}

function merge(one: Fields, other: Fields): Fields {
  const merged: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const known = merged[key];
    merged[key] = isFields(known) && isFields(value) ? merge(known, value) : (known ?? value);
  }
  return merged;
}
