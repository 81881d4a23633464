/** Refusals over HTTP: codes of the server, and errors of the library. */
import { safeSentence } from '../base/safe-id.ts';
import { errorTable, isQuittanceError } from '../base/error.ts';
import type { Problem } from './api/problem.ts';
import { toHttpWords } from './http-words.ts';

/** Codes that only the server has. */
export type HttpCode =
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

export const httpCodes: { readonly [Code in HttpCode]: { readonly status: number; readonly title: string } } =
  {
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
    typeof code === 'string' &&
    /^(?:SQLITE_(?:FULL|BUSY|LOCKED|READONLY|IOERR|CANTOPEN)(?:_\w+)?|ENOSPC|EDQUOT|EROFS|EIO|EMFILE|ENFILE)$/.test(
      code,
    )
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
