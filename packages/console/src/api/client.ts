/** Requests to the server. The browser sends its cookie; every request also carries the page key. */
import type { Problem } from '@quittance/server/internal/http/api/problem';
import { pageKeyHeaders } from './page-key.ts';
import { withoutRoutes } from './without-routes.ts';

/** The error in the server's response, or the reason why the request failed. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly facts: Readonly<Record<string, string>>;

  constructor(problem: Pick<Problem, 'status' | 'code' | 'detail' | 'facts'>) {
    super(withoutRoutes(problem.detail));
    this.name = 'ApiError';
    this.status = problem.status;
    this.code = problem.code;
    this.facts = problem.facts ?? {};
  }
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export async function get<Answer>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Answer> {
  return ask(withQuery(path, query), { method: 'GET', ...(signal && { signal }) });
}

export async function send<Answer>(
  path: string,
  body: unknown,
  method: 'POST' | 'DELETE' = 'POST',
): Promise<Answer> {
  return ask(path, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

/** API path with encoded ids, which may contain any character. */
export const pathOf = (...steps: readonly string[]): string => `/v1/${steps.map(encodeStep).join('/')}`;

/** Encodes one path step. A model may request a tool name with a lone surrogate, which a URL cannot hold. */
export const encodeStep = (step: string): string => encodeURIComponent(step.toWellFormed());

export function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') search.set(name, String(value));
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}

async function ask<Answer>(
  path: string,
  init: Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> },
): Promise<Answer> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      ...init,
      credentials: 'same-origin',
      headers: { accept: 'application/json', ...pageKeyHeaders(), ...init.headers },
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError({
      status: 0,
      code: 'console.offline',
      detail:
        init.method === 'GET'
          ? 'The server does not respond. Check that `quittance serve` is running. This page retries automatically.'
          : 'The server does not respond, and may not have received this. Check that `quittance serve` is running, then try again.',
    });
  }
  const text = await answer.text();
  const read = readJson(text);
  if (answer.ok) return read as Answer; // The route's response type.
  const problem = (typeof read === 'object' && read !== null ? read : {}) as Partial<Problem>;
  throw new ApiError({
    status: answer.status,
    code: problem.code ?? 'http.error',
    detail: problem.detail ?? `The server responded with status ${answer.status} and no explanation.`,
    ...(problem.facts && { facts: problem.facts }),
  });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
