/**
 * What a server says to people and models through the gateway besides results of tools: questions, log lines, progress,
 * prompts, resources, completions and errors.
 *
 * 1. It carries the key of the server in the configuration, so that it cannot look like a question of the gateway or of
 *    another server.
 * 2. Secrets are hidden as in results of tools.
 * 3. Metadata that only the gateway writes is removed.
 */
import { ProtocolError } from '@modelcontextprotocol/client';
import type { Redactor } from 'quittance/internal/base/redaction';
import type { JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import { safeLines, safeText, visibleText } from 'quittance/internal/base/safe-text';
import { hostOf, isForbiddenAddress, isLoopback } from 'quittance/internal/outbound/address';
import { isOurs } from '../tools/read-call-tool-result.ts';
import type { Fields, RelayedRequest } from './relayed-request.ts';
import { isFields, textOf, toFields } from './relayed-request.ts';

export type Speaker = {
  /** Key in the configuration. */
  readonly server: string;
  /** Do clients of the gateway reach other servers too? */
  readonly hasOthers: boolean;
  /** Where people decide about held calls. No server leads there. */
  readonly consoleUrl: string | undefined;
  readonly redactor: Redactor;
};

const ownKey = 'quittance/server';
const longestText = 10_000;

/** A question of a server, as its client gets it. Throws if no client should get it. */
export function toClientQuestion(
  { method, params: said = {} }: RelayedRequest,
  speaker: Speaker,
): RelayedRequest {
  const { server, hasOthers, redactor } = speaker;
  const params = hideInWords(redactor, said);
  const marked = { ...params, _meta: { ...withoutOwnKeys(params['_meta']), [ownKey]: server } };
  switch (method) {
    case 'elicitation/create':
      return { method, params: { _meta: marked._meta, ...elicitation(params, speaker) } };
    case 'sampling/createMessage': {
      const { includeContext } = params;
      const system = textOf(params['systemPrompt']);
      return {
        method,
        params: {
          ...marked,
          systemPrompt: `The MCP server ${JSON.stringify(server)} asks for this text. The user did not.${system === undefined ? '' : `\n\n${system}`}`,
          // The client takes the gateway for one server, and would add what other servers said.
          ...(includeContext !== undefined && { includeContext: hasOthers ? 'none' : includeContext }),
        },
      };
    }
    default:
      return { method, params: marked };
  }
}

/** Only what the protocol has. A client may show other fields as if they were ours. */
function elicitation(params: Fields, speaker: Speaker): Fields {
  const { server } = speaker;
  const { mode, message, requestedSchema, url, elicitationId } = params;
  const lines = safeLines((textOf(message) ?? '').slice(0, longestText)).map((line) => `> ${line}`);
  return {
    ...(mode !== undefined && { mode }),
    message: [`The MCP server ${JSON.stringify(server)} asks:`, ...lines].join('\n'),
    ...(requestedSchema !== undefined && { requestedSchema: toClientForm(requestedSchema) }),
    ...(url !== undefined && { url: toClientPage(url, speaker) }),
    ...(elicitationId !== undefined && { elicitationId: toClientId(server, elicitationId) }),
  };
}

/** The fields of a form. Each label is one visible line, so none can look like a line of ours. A form has no title. */
function toClientForm(form: unknown): Fields {
  const { $schema, type, properties, required } = toFields(form);
  const inOneLine = (value: unknown, key?: string): unknown => {
    // Text that the person may edit.
    if (typeof value === 'string')
      return key === 'default' ? safeLines(value).join('\n') : visibleText(value.slice(0, longestText));
    if (Array.isArray(value)) return value.map((inner: unknown) => inOneLine(inner));
    if (!isFields(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [visibleText(name), inOneLine(inner, name)]),
    );
  };
  return {
    ...($schema !== undefined && { $schema }),
    type,
    ...(properties !== undefined && { properties: inOneLine(properties) }),
    ...(required !== undefined && { required: inOneLine(required) }),
  };
}

/** A page that a server asks to open, as a browser reads it. Throws unless it is a web page, and not the console. */
function toClientPage(url: unknown, { consoleUrl }: Speaker): string {
  const target = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  if (target === undefined || (target.protocol !== 'https:' && target.protocol !== 'http:'))
    throw new Error('The server asks to open what is not a web page.');
  if (target.username !== '' || target.password !== '')
    throw new Error(
      'The server asks to open a page whose address looks like another one: it has a user name.',
    );
  if (consoleUrl !== undefined && placeOf(target) === placeOf(new URL(consoleUrl)))
    throw new Error('The server asks to open the console of the gateway.');
  return target.href;
}

/** The program that answers, whatever the address calls this machine. */
function placeOf(url: URL): string {
  const host = hostOf(url);
  return `${isLoopback(host) || isForbiddenAddress(host) ? 'this machine' : host}:${url.port}`;
}

/** The gateway asks under ids of its own. */
const toClientId = (server: string, id: unknown): string => `${server}:${safeText(String(id)).slice(0, 500)}`;

/** A notice of a server, as clients get it. */
export function toClientNotice(
  { method, params: said }: RelayedRequest,
  { server, redactor }: Speaker,
): RelayedRequest {
  const params = said && hideInNotice(redactor, said);
  switch (method) {
    case 'notifications/message': {
      const logger = textOf(params?.['logger']);
      const named = logger === undefined ? server : `${server}/${safeText(logger).slice(0, 200)}`;
      const data = params?.['data'];
      const shown = typeof data === 'string' ? safeLines(data).join('\n') : data;
      return { method, params: { ...params, logger: named, data: shown } };
    }
    case 'notifications/elicitation/complete':
      return { method, params: { ...params, elicitationId: toClientId(server, params?.['elicitationId']) } };
    default:
      return params === undefined ? { method } : { method, params };
  }
}

/** Progress of a server. The gateway tells of its own progress too, e.g. of the wait for an approval. */
export function toClientProgress(said: Fields, { server, redactor }: Speaker): Fields {
  const { message, ...params } = hideInNotice(redactor, said);
  return typeof message === 'string' ? { ...params, message: `${server}: ${safeText(message)}` } : params;
}

/** An error of a server. One of its kinds asks a person to open pages. */
export function toClientError(
  { code, message, data }: { readonly code: number; readonly message: string; readonly data?: unknown },
  speaker: Speaker,
): ProtocolError {
  if (isTooLong([message, data])) return new ProtocolError(code, message.slice(0, longestText));
  const asked = toFields(data)['elicitations'];
  if (!Array.isArray(asked)) return new ProtocolError(code, message, data);
  const elicitations = (asked as readonly unknown[]).map(
    (each) => toClientQuestion({ method: 'elicitation/create', params: toFields(each) }, speaker).params,
  );
  return new ProtocolError(code, message, { ...toFields(data), elicitations });
}

/** A result of a server. It may hold questions, whatever it says about itself. */
export function toClientResultOf(result: Fields, speaker: Speaker): Fields {
  const { inputRequests } = result;
  if (inputRequests === undefined) return result;
  const questions = Object.entries(toFields(inputRequests)).map(([key, asked]) => {
    const { method, params } = toFields(asked);
    const question = toClientQuestion({ method: String(method), params: toFields(params) }, speaker);
    return [key, { ...toFields(asked), ...question }] as const;
  });
  return { ...result, inputRequests: Object.fromEntries(questions) };
}

/** Metadata of a server without what only the gateway says: who answered, and what became of a call. */
export function withoutOwnKeys(meta: unknown): Fields {
  return Object.fromEntries(Object.entries(toFields(meta)).filter(([key]) => !isOurs(key)));
}

const toTheirs = (meta: JsonValue): JsonValue =>
  isJsonObject(meta) ? Object.fromEntries(Object.entries(meta).filter(([key]) => !isOurs(key))) : meta;

/** Names by which a client comes back to the server. People do not read them, and they must arrive as they were sent. */
const verbatim: ReadonlySet<string> = new Set([
  'blob',
  'cursor',
  'elicitationId',
  'mimeType',
  'name',
  'nextCursor',
  'progressToken',
  'requestState',
  'taskId',
  'uri',
  'uriTemplate',
  'url',
]);

/** To look for secrets takes time on the main thread: at worst about a quarter of a second for this many characters. */
const mostCharacters = 500_000;
const deepest = 200;
/** Told instead of an answer that is too long. */
export const tooLong: string =
  'The MCP server answered with more than half a million characters or too deep, so the gateway cannot look for secrets. ' +
  'Images, audio and the blobs of resources do not count.';

/** A long number may be a card number, and takes as long to check as a text. */
const numberCharacters = 20;
const charactersOf = (value: unknown): number =>
  typeof value === 'string' ? value.length + 1 : typeof value === 'number' ? numberCharacters : 1;

/** Is there too much text to look for secrets in? Files in parts of a result are stored as they are. */
export function isTooLong(said: unknown): boolean {
  const open: unknown[] = [said];
  let left = mostCharacters;
  for (let at = open.pop(); at !== undefined || open.length > 0; at = open.pop()) {
    left -= charactersOf(at);
    if (isFields(at) || Array.isArray(at)) {
      const part = toFields(at);
      for (const [key, inner] of Object.entries(at)) {
        left -= key.length;
        if (key !== 'blob' && !isData(key, part)) open.push(inner);
      }
    }
    if (left < 0) return true;
  }
  return false;
}

/** The words of a server with secrets hidden as in results of tools. Throws if they are too long or too deep. */
export function hideInWords(redactor: Redactor, said: Fields, most: number = mostCharacters): Fields {
  // It came as JSON.
  const given = said as JsonValue;
  const { value } = redactor.output(withoutVerbatim(given, { left: most, depth: 0 }));
  return toFields(withVerbatim(given, value));
}

/** What a notice says besides its level and its place is cut, not refused: its end is rarely worth reading. */
function hideInNotice(redactor: Redactor, said: Fields): Fields {
  try {
    return hideInWords(redactor, said, longestText);
  } catch {
    const { data, message, ...rest } = said;
    const short = (text: unknown): string =>
      `${(typeof text === 'string' ? text : 'A structure').slice(0, longestText / 2)}… (too long to show)`;
    return hideInWords(redactor, {
      ...Object.fromEntries(Object.entries(rest).filter(([, value]) => typeof value !== 'object')),
      ...(data !== undefined && { data: short(data) }),
      ...(message !== undefined && { message: short(message) }),
    });
  }
}

const isVerbatim = (key: string, value: JsonValue, within: Fields): boolean =>
  typeof value === 'string' && (verbatim.has(key) || isData(key, within));

const isData = (key: string, within: Fields): boolean =>
  key === 'data' && (within['type'] === 'image' || within['type'] === 'audio');

/** How many more characters, and how deep the value is. */
type Bounds = { left: number; depth: number };

function withoutVerbatim(value: JsonValue, bounds: Bounds): JsonValue {
  bounds.left -= charactersOf(value);
  if (bounds.left < 0 || bounds.depth > deepest) throw new Error(tooLong);
  bounds.depth += 1;
  const kept = Array.isArray(value)
    ? (value as readonly JsonValue[]).map((inner) => withoutVerbatim(inner, bounds))
    : isJsonObject(value)
      ? Object.fromEntries(
          Object.entries(value).map(([key, given]) => {
            bounds.left -= key.length;
            if (isVerbatim(key, given, value)) return [key, ''];
            return [key, withoutVerbatim(key === '_meta' ? toTheirs(given) : given, bounds)];
          }),
        )
      : value;
  bounds.depth -= 1;
  return kept;
}

/** Puts the names back. A value that the redactor replaced as a whole has none. */
function withVerbatim(said: JsonValue, kept: JsonValue): JsonValue {
  if (Array.isArray(said) && Array.isArray(kept)) {
    const list = said as readonly JsonValue[];
    return (kept as readonly JsonValue[]).map((inner, index) => withVerbatim(list[index] ?? null, inner));
  }
  if (!isJsonObject(said) || !isJsonObject(kept)) return kept;
  return Object.fromEntries(
    Object.entries(kept).map(([key, inner]) => {
      const was = Object.hasOwn(said, key) ? said[key] : undefined;
      if (was === undefined) return [key, inner];
      return [key, isVerbatim(key, was, said) ? was : withVerbatim(was, inner)];
    }),
  );
}
