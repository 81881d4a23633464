/** Refusals over HTTP: codes of the server, and errors of the library. */
import { safeSentence } from 'quittance/internal/base/safe-id';
import { errorTable, isQuittanceError } from 'quittance/internal/base/error';
import { isUnavailable } from 'quittance/internal/store/sqlite/database';
import type { Problem } from './api/problem.ts';
import type { ErrorCode } from 'quittance/internal/base/error';

/** Codes that only the server has. */
type HttpCode =
  | 'http.bad_request'
  | 'http.unauthenticated'
  | 'http.forbidden'
  | 'http.not_found'
  | 'http.method_not_allowed'
  | 'http.timeout'
  | 'http.too_large'
  | 'http.head_too_large'
  | 'http.unsupported_media_type'
  | 'http.wrong_host'
  | 'http.cross_site'
  | 'http.range_not_satisfiable'
  | 'http.too_many_requests'
  | 'http.not_available'
  | 'http.provider_unavailable'
  | 'http.internal';

const httpCodes: { readonly [Code in HttpCode]: { readonly status: number; readonly title: string } } = {
  'http.bad_request': { status: 400, title: 'The request is not valid for this route.' },
  'http.unauthenticated': { status: 401, title: 'The request has no valid token.' },
  'http.forbidden': { status: 403, title: 'The role of the token does not allow this.' },
  'http.not_found': { status: 404, title: 'There is nothing here.' },
  'http.method_not_allowed': { status: 405, title: 'This route does not take that method.' },
  'http.timeout': { status: 408, title: 'The request took too long to come.' },
  'http.too_large': { status: 413, title: 'The request is too large.' },
  'http.unsupported_media_type': { status: 415, title: 'The body is not JSON.' },
  'http.head_too_large': { status: 431, title: 'The head of the request is too large.' },
  'http.wrong_host': { status: 421, title: 'This server does not answer under that name.' },
  'http.cross_site': { status: 403, title: 'The request comes from another site.' },
  'http.range_not_satisfiable': { status: 416, title: 'The range is outside of the content.' },
  'http.too_many_requests': { status: 429, title: 'Too many requests.' },
  'http.not_available': { status: 501, title: 'This server was started without it.' },
  'http.provider_unavailable': { status: 503, title: 'The identity provider cannot be reached.' },
  'http.internal': { status: 500, title: 'Something went wrong in the server.' },
};

/** Thrown while a request is handled. It becomes the answer. */
export class HttpRefusal extends Error {
  readonly code: HttpCode;
  readonly facts: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: HttpCode,
    detail: string,
    facts: Readonly<Record<string, string>> = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.name = 'HttpRefusal';
    this.code = code;
    this.facts = facts;
    this.headers = headers;
  }
}

/** The public text of an error. An unexpected error reveals nothing. */
export function toProblem(error: unknown): Problem {
  if (error instanceof HttpRefusal) {
    const { status, title } = httpCodes[error.code];
    return problem(error.code, status, title, safeSentence(error.message), error.facts);
  }
  if (isQuittanceError(error)) {
    const { status, title, detail } = toHttpWords(error.code, error.message);
    return problem(error.code, status, title, safeSentence(detail), error.facts);
  }
  if (isStorageTrouble(error))
    return problem(
      'ledger.unavailable',
      503,
      errorTable['ledger.unavailable'].means,
      'The disk of the server, or the ledger on it, cannot be used now; the log of the server says why. Try again.',
    );
  const { status, title } = httpCodes['http.internal'];
  return problem(
    'http.internal',
    status,
    title,
    'The log of the server says what. Nothing was decided by it.',
  );
}

/** Errors of SQLite and the file system that may be temporary. */
function isStorageTrouble(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return (
    isUnavailable(error) ||
    (typeof code === 'string' && /^(?:ENOSPC|EDQUOT|EROFS|EIO|EMFILE|ENFILE)$/.test(code))
  );
}

function problem(
  code: string,
  status: number,
  title: string,
  detail: string,
  facts: Readonly<Record<string, string>> = {},
): Problem {
  const more = Object.keys(facts).length === 0 ? {} : { facts };
  return { type: `urn:quittance:${code}`, title, status, code, detail, ...more };
}

export const problemResponse = (error: unknown): Response => {
  const answer = toProblem(error);
  return new Response(JSON.stringify(answer), {
    status: answer.status,
    headers: {
      'content-type': 'application/problem+json; charset=utf-8',
      ...(error instanceof HttpRefusal && error.headers),
    },
  });
};

/**
 * Error texts for HTTP clients. Errors of the library name its functions and options; this table replaces them with
 * routes and fields. Other texts are the same for both.
 */

type Words = {
  readonly status: number;
  /** Replaces the title of the code. */
  readonly title?: string;
  /** Replaces the remedy of the code. */
  readonly remedy?: string;
  /** Replaces a message about what only the server can do. */
  readonly message?: string;
};

/** Every code that a route may answer with. */
const words: { readonly [Code in ErrorCode]?: Words } = {
  'config.invalid': {
    status: 400,
    title: 'The request is invalid.',
  },
  'contracts.invalid': { status: 422 },
  'call.malformed': {
    status: 400,
    title: 'A call must be exactly {id, name, arguments}.',
    remedy: 'Put other fields next to `call` in the body, e.g. in `attrs`.',
  },
  'call.pending': {
    status: 409,
    title: 'The call awaits a person, or another process runs it. This is not an outcome.',
    remedy: 'Ask again with the same sessionId and call id, by POST /v1/calls, to rejoin the call.',
  },
  'call.unknown': {
    status: 404,
    remedy: 'Check the session and the call id; GET /v1/calls?sessionId=… lists the calls of a session.',
  },
  'call.resolved': { status: 409 },
  'confirmation.unknown': {
    status: 404,
    remedy: 'GET /v1/confirmations?status=pending lists the open ones.',
  },
  'confirmation.decided': { status: 409 },
  'confirmation.mismatch': { status: 409, remedy: 'GET /v1/confirmations/{confirmationId} shows it.' },
  'confirmation.expired': { status: 410 },
  'confirmation.forbidden': {
    status: 403,
    remedy: 'Ask a person with that right to decide. The operator of the server knows who has it.',
  },
  'grant.unknown': {
    status: 404,
    remedy: 'GET /v1/grants?sessionId=… lists the existing ones.',
  },
  'review.unknown': { status: 404, remedy: 'GET /v1/mcp/servers lists the servers.' },
  'review.mismatch': {
    status: 409,
    remedy: 'GET /v1/mcp/servers/{serverId}/tools/{toolName} shows the tool as it is now.',
  },
  'delegation.unknown': { status: 404, remedy: 'GET /v1/delegations lists the existing ones.' },
  'handoff.unknown': {
    status: 404,
    remedy: 'Take what waits with POST /v1/handoffs/claim and report with the token it gives, unchanged.',
  },
  'handoff.taken': { status: 409 },
  'handoff.expired': { status: 410 },
  'undo.unavailable': { status: 409 },
  'undo.spent': { status: 409 },
  'undo.expired': { status: 410, remedy: 'Make it good by another call.' },
  'undo.conflict': { status: 409 },
  'runtime.closed': {
    status: 503,
    title: 'The server takes no more calls.',
    message: 'The server is being stopped, or its runtime was closed.',
    remedy: 'Ask again once it has been started again: nothing is lost.',
  },
  'seal.broken': {
    status: 409,
    remedy: 'The server must be started with the key the payload was sealed with.',
  },
  'ledger.newer': {
    status: 503,
    remedy: 'The operator must update every server that uses the ledger.',
  },
  'ledger.damaged': {
    status: 500,
    remedy: 'POST /v1/verify names the first bad place. Restore the ledger from a copy that verifies.',
  },
  'ledger.in_use': { status: 409 },
  'ledger.closed': {
    status: 503,
    title: 'The ledger of the server is closed.',
    message: 'The server is being stopped.',
    remedy: 'Ask again once it has been started again.',
  },
  'ledger.unavailable': { status: 503 },
  'ledger.altered': { status: 500 },
};

/** Names of the library in messages and what HTTP clients use instead. Longer names come first. */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/^runtime\.[\w.]+: /, ''],
  [/^runtime\.[\w.]+ takes /, 'Expected is '],
  [/, in any process that shares the ledger\b/g, ''],
  [/ in another one on the same ledger\b/g, ' once the server runs again'],
  [/\bruntime\.confirmations\.list\(\{ status: 'pending' \}\)/g, 'GET /v1/confirmations?status=pending'],
  [/\bruntime\.confirmations\.decide\b/g, 'POST /v1/confirmations/{confirmationId}/decision'],
  [/\bruntime\.delegations\.list\(\)/g, 'GET /v1/delegations'],
  [/\bruntime\.grants\.list\(\{ sessionId \}\)/g, 'GET /v1/grants?sessionId=…'],
  [
    /\bruntime\.calls\.reconcile\(\{ sessionId, callId: ("(?:[^"\\]|\\.)*") \}, …\)/g,
    'POST /v1/sessions/{sessionId}/calls/{callId}/resolution for the call $1',
  ],
  [/ Per-call metadata goes in the options: turn\.call\(call, \{attrs: \{…\}\}\)\./g, ''],
  [
    /\bthe runtime has mayDecide but no mayGrant, so\b/g,
    'the server restricts who may decide and does not state who may give grants, so',
  ],
  [
    /\bthe host does not let them decide\b|\bdenied by mayGrant\b/g,
    'the server is set up to let others do so',
  ],
  [/\bmay(?:Decide|Grant) threw\b/g, 'the server could not find out whether they may'],
  [/, or use turn\.callAll\b/g, ''],
  [/\bthis runtime\b/g, 'this server'],
  [/\bThis runtime\b/g, 'This server'],
  [/\bgive options, e\.g\. /g, 'give '],
];

const inHttpWords = (message: string): string =>
  phrases.reduce((text, [found, instead]) => text.replace(found, instead), message);

/** The status, title and detail of the refusal for this error. */
export function toHttpWords(
  code: ErrorCode,
  message: string,
): { readonly status: number; readonly title: string; readonly detail: string } {
  const { means, remedy } = errorTable[code];
  const known = words[code];
  const said = known?.message ?? inHttpWords(message);
  // Some remedies only refer to the message.
  const whatToDo = known?.remedy ?? (remedy.startsWith('Read the message') ? '' : remedy);
  // Some messages already end with what to do.
  const advice = whatToDo === '' || said.includes(whatToDo) ? '' : ` ${whatToDo}`;
  return {
    status: known?.status ?? 500,
    title: known?.title ?? means,
    detail: `${said}${/[.!?]$/.test(said) ? '' : '.'}${advice}`,
  };
}
