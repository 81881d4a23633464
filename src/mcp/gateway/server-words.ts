/**
 * What a server says to people and models through the gateway: questions, log lines and progress. It carries the key of
 * the server in the configuration, so that it cannot look like a question of the gateway or of another server.
 */
import { safeLines, safeText } from '../../base/safe-text.ts';
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
};

const ownKey = 'quittance/server';
const longestText = 10_000;

/** A question of a server, as its client gets it. Throws if no client should get it. */
export function toClientQuestion({ method, params = {} }: RelayedRequest, speaker: Speaker): RelayedRequest {
  const { server, hasOthers } = speaker;
  const marked = { ...params, _meta: { ...withoutOwnKeys(params['_meta']), [ownKey]: server } };
  switch (method) {
    case 'elicitation/create':
      return { method, params: { ...marked, ...elicitation(params, speaker) } };
    case 'sampling/createMessage': {
      const { includeContext } = params;
      const said = textOf(params['systemPrompt']);
      return {
        method,
        params: {
          ...marked,
          systemPrompt: `The MCP server ${JSON.stringify(server)} asks for this text. The user did not.${said === undefined ? '' : `\n\n${said}`}`,
          // The client takes the gateway for one server, and would add what other servers said.
          ...(includeContext !== undefined && { includeContext: hasOthers ? 'none' : includeContext }),
        },
      };
    }
    default:
      return { method, params: marked };
  }
}

function elicitation(params: Fields, { server, consoleUrl }: Speaker): Fields {
  const { message, url, elicitationId } = params;
  const lines = safeLines((textOf(message) ?? '').slice(0, longestText)).map((line) => `> ${line}`);
  const shown = { message: [`The MCP server ${JSON.stringify(server)} asks:`, ...lines].join('\n') };
  if (url === undefined) return shown;
  const target = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  if (target === undefined || (target.protocol !== 'https:' && target.protocol !== 'http:'))
    throw new Error('The server asks to open what is not a web page.');
  if (consoleUrl !== undefined && target.origin === new URL(consoleUrl).origin)
    throw new Error('The server asks to open the console of the gateway.');
  return {
    ...shown,
    ...(elicitationId !== undefined && { elicitationId: toClientId(server, elicitationId) }),
  };
}

/** The gateway asks under ids of its own. */
const toClientId = (server: string, id: unknown): string => `${server}:${safeText(String(id)).slice(0, 500)}`;

/** A notice of a server, as clients get it. */
export function toClientNotice({ method, params }: RelayedRequest, { server }: Speaker): RelayedRequest {
  switch (method) {
    case 'notifications/message': {
      const logger = textOf(params?.['logger']);
      const named = logger === undefined ? server : `${server}/${safeText(logger).slice(0, 200)}`;
      return { method, params: { ...params, logger: named } };
    }
    case 'notifications/elicitation/complete':
      return { method, params: { ...params, elicitationId: toClientId(server, params?.['elicitationId']) } };
    default:
      return params === undefined ? { method } : { method, params };
  }
}

/** Progress of a server. The gateway tells of its own progress too, e.g. of the wait for an approval. */
export function toClientProgress(params: Fields, { server }: Speaker): Fields {
  const { message } = params;
  return typeof message === 'string' ? { ...params, message: `${server}: ${safeText(message)}` } : params;
}

/** A result of a server. It may hold questions instead of an answer. */
export function toClientResultOf(result: Fields, speaker: Speaker): Fields {
  const { resultType, status, inputRequests } = result;
  const asks = resultType === 'input_required' || status === 'input_required';
  if (!asks || !isFields(inputRequests)) return result;
  const questions = Object.entries(inputRequests).map(([key, asked]) => {
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
