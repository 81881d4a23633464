/**
 * Everything but calls of tools, passed on to the server it concerns and back unchanged. With several servers, names
 * get a prefix and lists are read one server after the other. A resource belongs to the first server that lists it.
 */
import type { Redactor } from 'quittance/internal/base/redaction';
import { ProtocolError, isSpecType } from '@modelcontextprotocol/client';
import type { ClientRequest } from './client-request.ts';
import { progressOf } from './client-request.ts';
import type { Exchange } from './connection.ts';
import type { Era, Fields, RelayedRequest } from './relayed-request.ts';
import { isFields, toFields, rpcCodes, textOf, toFieldsList } from './relayed-request.ts';
import type { SendToServer } from './open-call.ts';
import { askEach } from './open-call.ts';
import { toNextRound } from './next-round.ts';
import type { OpenRequests } from './open-requests.ts';
import type { ResourceOwners } from './resource-owners.ts';
import type { Offer } from '@quittance/server/internal/mcp-reviews/server-texts';
import { withoutOtherAnswers } from '../tools/read-call-tool-result.ts';
import { hideInWords, withoutOwnKeys } from './server-words.ts';
import type { ServerNames } from './server-names.ts';
import type { Upstream } from './upstream.ts';

/** The field of each list, and the capability that a server needs to be asked for it. */
const lists: Readonly<Record<string, { readonly field: string; readonly capability: string }>> = {
  'tools/list': { field: 'tools', capability: 'tools' },
  'prompts/list': { field: 'prompts', capability: 'prompts' },
  'resources/list': { field: 'resources', capability: 'resources' },
  'resources/templates/list': { field: 'resourceTemplates', capability: 'resources' },
};

/** How long one of several servers may take to list what it has. */
const patienceMs = 10_000;

type RelayOptions = {
  readonly upstreams: readonly Upstream[];
  readonly names: ServerNames;
  /** Sends over the connection that this client has to the server. */
  readonly sendTo: (upstream: Upstream) => SendToServer;
  /** Turns listed tools into what the client may see. */
  readonly showTools: (
    upstream: Upstream,
    listed: readonly unknown[],
    isWhole: boolean,
  ) => Promise<readonly unknown[]>;
  /** The tools that a server listed last, for while it is down. */
  readonly knownTools: (upstream: Upstream) => readonly unknown[];
  /** Tools of the gateway itself, after those of the servers. */
  readonly ownTools: () => readonly unknown[];
  readonly owners: ResourceOwners;
  /** Requests during which a legacy server may ask a modern client. */
  readonly openRequests: OpenRequests;
  readonly log: (server: string, line: string) => void;
  readonly redactor: Redactor;
  /** May clients get the prompts or the resources of this server? */
  readonly offers: (upstream: Upstream, offer: Offer) => Promise<boolean>;
};

/** During others, e.g. a completion, the modern protocol has no questions, and the server gets an error. */
const mayAsk: ReadonlySet<string> = new Set(['prompts/get', 'resources/read']);

export class Relay {
  readonly #options: RelayOptions;
  constructor(options: RelayOptions) {
    this.#options = options;
  }

  async handle(request: RelayedRequest, client: ClientRequest): Promise<Fields> {
    const { method } = request;
    const list = Object.hasOwn(lists, method) ? lists[method] : undefined;
    if (list !== undefined) return this.#list(request, client, list);
    switch (method) {
      case 'prompts/get':
        return this.#byName(request, client, request.params ?? {});
      case 'completion/complete':
        return this.#complete(request, client);
      case 'resources/read':
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return this.#byUri(request, client);
      case 'logging/setLevel':
        await this.#toAll(request, client);
        return {};
      default:
        throw new ProtocolError(rpcCodes.methodNotFound, 'Method not found');
    }
  }

  /** The answer of a server with its secrets hidden. Tools are learned as they were listed, and hidden when shown. */
  async #send(upstream: Upstream, given: RelayedRequest, client: ClientRequest): Promise<Fields> {
    const { redactor } = this.#options;
    try {
      const result = await this.#exchange(upstream, given, client);
      return given.method === 'tools/list' ? result : hideInWords(redactor, result);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      const { code, message, data } = error;
      const hidden = hideInWords(redactor, { message, data });
      throw new ProtocolError(code, String(hidden['message']), hidden['data']);
    }
  }

  async #exchange(upstream: Upstream, given: RelayedRequest, client: ClientRequest): Promise<Fields> {
    const offer = offerOf(given);
    if (offer !== undefined && !(await this.#options.offers(upstream, offer)))
      throw new ProtocolError(
        rpcCodes.invalidParams,
        `The ${offer} of the server ${JSON.stringify(upstream.name)} were not approved. Review them: quittance mcp review`,
      );
    const send = this.#options.sendTo(upstream);
    const request = withInput(given, client);
    if (client.era === 'modern' && mayAsk.has(given.method))
      return readRelayed(await this.#options.openRequests.send(request, client, send));
    let result = await send(request, toExchange(client));
    if (result['resultType'] === 'input_required' && !mayAsk.has(given.method))
      throw new ProtocolError(
        rpcCodes.internal,
        'The server answered with a question, which this request cannot become.',
      );
    // A modern server asks by its result. A legacy client is asked at once, and the request is sent again.
    for (let round = 1; client.era === 'legacy' && result['resultType'] === 'input_required'; round++) {
      const ask = (requests: Fields): Promise<Fields> => askEach(requests, client.ask);
      const { signal } = client;
      const params = await toNextRound({ round, params: { ...request.params }, result, signal, ask });
      result = await send({ ...request, params }, toExchange(client));
    }
    return readRelayed(result);
  }

  async #list(
    request: RelayedRequest,
    client: ClientRequest,
    list: { readonly field: string; readonly capability: string },
  ): Promise<Fields> {
    const { upstreams, ownTools } = this.#options;
    const place = readCursor(request.params?.['cursor'], upstreams.length);
    // Many clients read only the first page, so it has the lists of all servers that fit on one page.
    const found: unknown[] = [];
    for (let index = place.index; index < upstreams.length; index++) {
      const upstream = upstreams[index];
      if (upstream === undefined) break;
      const cursor = index === place.index ? place.cursor : undefined;
      const page = await this.#page(upstream, request, cursor, client, list);
      if (page === undefined) continue;
      const next = textOf(page['nextCursor']);
      const isLast = next === undefined && index === upstreams.length - 1;
      const isWhole = cursor === undefined && next === undefined;
      found.push(...(await this.#show(upstream, list.field, page[list.field], isWhole, client.era)));
      if (next === undefined && !isLast) continue;
      // Its entries are hidden one by one, when they are shown.
      const { nextCursor: _, [list.field]: __, ...said } = page;
      const rest = hideInWords(this.#options.redactor, said);
      const own = isLast && list.field === 'tools' ? ownTools() : [];
      return {
        ...rest,
        [list.field]: [...found, ...own],
        ...(next !== undefined && { nextCursor: writeCursor(index, next, upstreams.length) }),
      };
    }
    return { [list.field]: list.field === 'tools' ? [...found, ...ownTools()] : found };
  }

  /** A page of one server. Undefined if it has no such list, or is down while others are up. */
  async #page(
    upstream: Upstream,
    { method, params }: RelayedRequest,
    cursor: string | undefined,
    client: ClientRequest,
    { field, capability }: { readonly field: string; readonly capability: string },
  ): Promise<Fields | undefined> {
    const isOnly = this.#options.upstreams.length === 1;
    if (!isOnly && upstream.isKnown && !upstream.can(capability)) return undefined;
    const offer = offerOf({ method });
    if (offer !== undefined && !(await this.#options.offers(upstream, offer))) return undefined;
    const { cursor: _, ...rest } = params ?? {};
    try {
      const asked = { ...rest, ...(cursor !== undefined && { cursor }) };
      if (isOnly) return await this.#send(upstream, { method, params: asked }, client);
      // A slow server does not keep the lists of the others back.
      const signal = AbortSignal.any([client.signal, AbortSignal.timeout(patienceMs)]);
      return await this.#send(upstream, { method, params: asked }, { ...client, signal });
    } catch (error) {
      if (isOnly) throw error;
      this.#options.log(
        upstream.name,
        `Its ${field} could not be listed: ${error instanceof Error ? error.message : String(error)}`,
      );
      return field === 'tools' && cursor === undefined
        ? { tools: this.#options.knownTools(upstream) }
        : undefined;
    }
  }

  async #show(
    upstream: Upstream,
    field: string,
    given: unknown,
    isWhole: boolean,
    era: Era,
  ): Promise<readonly unknown[]> {
    const { names, showTools, log } = this.#options;
    const onLeftOut = (name: string): void =>
      log(upstream.name, `Its list of ${field} has an entry that clients would not accept: ${name}.`);
    const toList = (entries: unknown): readonly Fields[] => toClientList(field, entries, { era, onLeftOut });
    switch (field) {
      case 'tools':
        return toList(await showTools(upstream, Array.isArray(given) ? given : [], isWhole)).map((tool) =>
          hideInWords(this.#options.redactor, tool),
        );
      case 'prompts':
        return toList(given).flatMap((prompt) => {
          const name = names.toClient(upstream.name, String(prompt['name']));
          return name === undefined ? [] : [{ ...prompt, name }];
        });
      case 'resources':
        return toList(given).filter(({ uri }) => this.#isOwned(upstream, uri));
      default:
        return toList(given).filter(({ uriTemplate }) => this.#isOwned(upstream, uriTemplate));
    }
  }

  #isOwned(upstream: Upstream, uri: unknown): boolean {
    const { owners, upstreams } = this.#options;
    return typeof uri === 'string' && owners.claim(uri, upstream, upstreams);
  }

  #byName(request: RelayedRequest, client: ClientRequest, params: Fields): Promise<Fields> {
    const shown = textOf(params['name']) ?? '';
    const found = this.#options.names.toServer(shown);
    const upstream = this.#options.upstreams.find(({ name }) => name === found?.server);
    if (upstream === undefined || found === undefined)
      throw new ProtocolError(rpcCodes.invalidParams, `Unknown name: ${shown}`);
    return this.#send(upstream, { ...request, params: { ...params, name: found.name } }, client);
  }

  async #complete(request: RelayedRequest, client: ClientRequest): Promise<Fields> {
    const ref = toFields(request.params?.['ref']);
    const uri = textOf(ref['uri']);
    if (uri !== undefined) {
      const owner = await this.#ownerOf(uri, client);
      return owner === undefined ? this.#tryEach(request, client) : this.#send(owner, request, client);
    }
    const found = this.#options.names.toServer(textOf(ref['name']) ?? '');
    const upstream = this.#options.upstreams.find(({ name }) => name === found?.server);
    if (upstream === undefined || found === undefined)
      throw new ProtocolError(rpcCodes.invalidParams, 'Unknown reference');
    const params = { ...request.params, ref: { ...ref, name: found.name } };
    return this.#send(upstream, { ...request, params }, client);
  }

  async #byUri(request: RelayedRequest, client: ClientRequest): Promise<Fields> {
    const uri = textOf(request.params?.['uri']) ?? '';
    const owner = await this.#ownerOf(uri, client);
    return owner === undefined ? this.#tryEach(request, client) : this.#send(owner, request, client);
  }

  /** A client may name what it listed in an earlier life of the gateway, so the servers list it once more. */
  async #ownerOf(uri: string, client: ClientRequest): Promise<Upstream | undefined> {
    const { owners, upstreams } = this.#options;
    const known = owners.find(uri, upstreams);
    if (known !== undefined || upstreams.length === 1) return known;
    for (const method of ['resources/list', 'resources/templates/list']) {
      const list = lists[method];
      if (list !== undefined && owners.mustRead(method)) await this.#list({ method }, client, list);
    }
    return owners.find(uri, upstreams) ?? owners.findByTemplate(uri, upstreams);
  }

  /** Asks the servers with resources in order, until one does not refuse. */
  async #tryEach(request: RelayedRequest, client: ClientRequest): Promise<Fields> {
    const { upstreams } = this.#options;
    const able = upstreams.filter((upstream) => upstreams.length === 1 || upstream.can('resources'));
    let refused: unknown = new ProtocolError(rpcCodes.invalidParams, 'Unknown resource');
    for (const upstream of able) {
      try {
        return await this.#send(upstream, request, client);
      } catch (error) {
        refused = error;
      }
    }
    throw refused;
  }

  async #toAll(request: RelayedRequest, client: ClientRequest): Promise<void> {
    await Promise.allSettled(
      this.#options.upstreams
        .filter((upstream) => upstream.can('logging'))
        .map((upstream) => this.#send(upstream, request, client)),
    );
  }
}

/** What a request would put before a model without a call of a tool. */
function offerOf({ method, params }: RelayedRequest): Offer | undefined {
  if (method.startsWith('prompts/')) return 'prompts';
  if (method.startsWith('resources/')) return 'resources';
  if (method !== 'completion/complete') return undefined;
  return toFields(params?.['ref'])['uri'] === undefined ? 'prompts' : 'resources';
}

/** Only a call of a tool can become a task, and the gateway makes those itself. Its own keys of `_meta` are removed. */
function readRelayed(result: Fields): Fields {
  if (result['resultType'] !== 'task' && !isFields(result['task'])) {
    const { _meta, ...rest } =
      result['resultType'] === 'input_required' ? result : withoutOtherAnswers(result);
    const meta = withoutOwnKeys(_meta);
    return { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
  }
  throw new ProtocolError(
    rpcCodes.internal,
    'The server answered with a task, which this request cannot become.',
  );
}

/** The SDK lifts the answers and the state of a modern client out of the parameters. */
function withInput({ method, params }: RelayedRequest, client: ClientRequest): RelayedRequest {
  const { inputResponses, requestState, meta } = client;
  const { _meta, task: _, ...rest } = params ?? {};
  const all = {
    ...rest,
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
    ...(Object.keys(meta).length > 0 && { _meta: meta }),
  };
  return params === undefined && Object.keys(all).length === 0 ? { method } : { method, params: all };
}

const toExchange = (client: ClientRequest): Exchange => ({
  signal: client.signal,
  capabilities: client.capabilities,
  envelope: client.envelope,
  headers: client.headers,
  onProgress: progressOf(client),
  onNotice: client.notify,
  ask: client.ask,
});

type Place = { readonly index: number; readonly cursor: string | undefined };

/** A single server's cursors pass unchanged. */
function writeCursor(index: number, cursor: string | undefined, servers: number): string {
  if (servers === 1) return cursor ?? '';
  return Buffer.from(JSON.stringify([index, cursor ?? null]), 'utf8').toString('base64url');
}

function readCursor(given: unknown, servers: number): Place {
  if (given === undefined) return { index: 0, cursor: undefined };
  if (servers === 1) return { index: 0, cursor: textOf(given) };
  try {
    const [index, cursor] = JSON.parse(
      Buffer.from(textOf(given) ?? '', 'base64url').toString('utf8'),
    ) as unknown[];
    if (typeof index === 'number' && index >= 0 && Number.isSafeInteger(index))
      return { index, cursor: textOf(cursor) };
  } catch {
    // Refused below.
  }
  throw new ProtocolError(rpcCodes.invalidParams, 'Invalid cursor');
}

/**
 * Lists as clients accept them. A client rejects a whole list because of one entry that breaks the protocol. So such
 * an entry is mended or left out, and the entries of other servers stay.
 */

const isEntry: Readonly<Record<string, (entry: unknown) => boolean>> = {
  tools: isSpecType.Tool,
  prompts: isSpecType.Prompt,
  resources: isSpecType.Resource,
  resourceTemplates: isSpecType.ResourceTemplate,
};

/** More entries of one page are left out. */
const mostEntries = 10_000;

/** `onLeftOut` receives the name of an entry that clients would not accept, e.g. a second one of the same name. */
function toClientList(
  field: string,
  given: unknown,
  { era, onLeftOut }: { readonly era: Era; readonly onLeftOut: (name: string) => void },
): readonly Fields[] {
  const isValid = isEntry[field] ?? isFields;
  const seen = new Set<unknown>();
  return toFieldsList(Array.isArray(given) ? given.slice(0, mostEntries) : given).flatMap((entry) => {
    const mended = field === 'tools' ? toClientTool(entry, era) : entry;
    const key = entry['uri'] ?? entry['uriTemplate'] ?? entry['name'];
    const isNew = seen.size < seen.add(key).size;
    if (isNew && isValid(mended)) return [mended];
    onLeftOut(String(key));
    return [];
  });
}

/**
 * The gateway makes the tasks of legacy servers itself, so the client makes a plain call. An output that is not an
 * object exists only in the modern protocol.
 */
function toClientTool(listed: Fields, era: Era): Fields {
  const { inputSchema, outputSchema, execution: _, ...tool } = listed;
  const isPromised = isFields(outputSchema) && (era === 'modern' || outputSchema['type'] === 'object');
  return {
    ...tool,
    inputSchema: toClientSchema(isFields(inputSchema) ? inputSchema : {}, 'object'),
    ...(isPromised && { outputSchema: toClientSchema(outputSchema, outputSchema['type']) }),
  };
}

/** Older clients accept only objects as schemas of properties. A schema that they accept stays as it is. */
function toClientSchema(schema: Fields, type: unknown): Fields {
  const { properties, required, ...others } = schema;
  const isList = Array.isArray(required) && required.every((name) => typeof name === 'string');
  const isFine = isFields(properties) && Object.values(properties).every(isFields);
  if (schema['type'] === type && (isFine || properties === undefined) && (isList || required === undefined))
    return schema;
  return {
    ...others,
    ...(type !== undefined && { type }),
    ...(isFields(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, inner]) => [
          name,
          inner === false ? { not: {} } : isFields(inner) ? inner : {},
        ]),
      ),
    }),
    ...(isList && { required }),
  };
}
