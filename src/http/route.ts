/** A route: everything its checking, its handling and its description are made from. */
import type { Actor, Needed } from './actor.ts';
import type { Service } from './service.ts';
import type { AnyFields, AnyShape, Fields, Shape } from './shape.ts';

/** What a handler is given: all of it checked. */
export type Asked<Params extends string, Query, Body> = {
  readonly service: Service;
  readonly actor: Actor;
  /** When the head of the request was there, by the ledger's clock. */
  readonly arrivedAt: number;
  readonly params: { readonly [Name in Params]: string };
  readonly query: Query;
  readonly body: Body;
  readonly headers: Headers;
  /** Aborted when the asker is gone. */
  readonly signal: AbortSignal;
  /** Ends the connection; undefined where there is none to end. */
  readonly cut: (() => void) | undefined;
};

/**
 * `judged`: schemas, rules and redaction look at all of it, on the event loop. `reported`: redaction and the rules
 * about outputs do.
 */
export type BodySize = 'general' | 'judged' | 'reported';

/** What is known before the body of a request has arrived. */
export type Head<Params extends string> = Pick<
  Asked<Params, object, unknown>,
  'service' | 'arrivedAt' | 'params'
>;

type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamsOf<Rest>
  : never;

/** An answer that is no JSON, or not always. */
export type MediaAnswer = {
  readonly mediaType: string;
  /** Where it may be something else. */
  readonly otherTypes?: readonly string[];
  /** What each message of a stream holds. */
  readonly message?: AnyShape;
  /** What is answered where JSON is accepted. */
  readonly json?: AnyShape;
  /** Whether it is all there at once: then its head can be had alone. */
  readonly isWhole?: boolean;
};

type RouteSpec<Path extends string, Query extends object, Body, Answer> = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: Path;
  readonly access: Needed;
  /** One sentence. */
  readonly summary: string;
  readonly query?: Fields<Query>;
  readonly body?: Shape<Body>;
  /** Headers it heeds beside those that every route does, and what they are for. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly answer: Shape<Answer> | MediaAnswer;
  readonly status?: number;
  /** What it answers with under other statuses, refusals aside. */
  readonly also?: Readonly<Record<number, AnyShape | MediaAnswer>>;
  /** Whether it is asked again and again by what watches the server, and tells nothing worth guessing for. */
  readonly isProbe?: boolean;
  /** How much of a body is read here on the event loop; the general limits where left out. */
  readonly size?: BodySize;
  /** Called with the head, before the body arrives. What it gives is called once the request was handled. */
  readonly expect?: (head: Head<ParamsOf<Path>>) => () => void;
  readonly handle: (asked: Asked<ParamsOf<Path>, Query, Body>) => Promise<Answer | Response>;
};

/** A route whose types have been forgotten: what was checked is what it was declared with. */
export type Route = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly access: Needed;
  readonly summary: string;
  readonly query: AnyFields;
  readonly body: AnyShape | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly answer: AnyShape | MediaAnswer;
  readonly status: number;
  readonly also: Readonly<Record<number, AnyShape | MediaAnswer>>;
  readonly isProbe: boolean;
  readonly size: BodySize;
  readonly expect: ((head: Head<string>) => () => void) | undefined;
  readonly handle: (asked: Asked<string, object, unknown>) => Promise<unknown>;
};

export function defineRoute<
  const Path extends string,
  Query extends object = {},
  Body = undefined,
  Answer = never,
>(spec: RouteSpec<Path, Query, Body, Answer>): Route {
  return {
    method: spec.method,
    path: spec.path,
    access: spec.access,
    summary: spec.summary,
    query: (spec.query ?? {}) as AnyFields,
    body: spec.body,
    headers: spec.headers ?? {},
    answer: spec.answer,
    status: spec.status ?? 200,
    also: spec.also ?? {},
    isProbe: spec.isProbe ?? false,
    size: spec.size ?? 'general',
    expect: spec.expect as Route['expect'],
    // What it is given has been held against the very shapes its types come from.
    handle: spec.handle as Route['handle'],
  };
}

export const isShape = (answer: Route['answer']): answer is AnyShape => 'toSchema' in answer;
