/**
 * A route: its path, who may call it, the types of its query, body and answer, and its handler. The types are named, and
 * `npm run docs` writes a schema for each name. Requests are checked with these schemas, and the OpenAPI document is
 * written from them.
 */
import type { Needed } from 'quittance/internal/call/role';
import type { Actor } from './actor.ts';
import type { ApiTypes } from './api-schemas.ts';
import type { Service } from './service.ts';

export type TypeName = keyof ApiTypes;
type TypeOf<Name extends TypeName | undefined, Otherwise> = Name extends TypeName
  ? ApiTypes[Name]
  : Otherwise;

/** What a handler receives, already checked. */
export type Asked<Params extends string, Query, Body> = {
  readonly service: Service;
  readonly actor: Actor;
  /** When the head of the request arrived, by the ledger's clock. */
  readonly arrivedAt: number;
  readonly params: { readonly [Name in Params]: string };
  readonly query: Query;
  readonly body: Body;
  readonly headers: Headers;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** Ends the connection; undefined if there is none. */
  readonly cut: (() => void) | undefined;
};

/**
 * `judged`: schemas, rules and redaction examine the whole body on the event loop. `reported`: redaction and the rules
 * about outputs do.
 */
export type BodySize = 'general' | 'judged' | 'reported';

/** What a route knows before the body of a request has arrived. */
export type RequestHead<Params extends string> = Pick<
  Asked<Params, object, unknown>,
  'service' | 'arrivedAt' | 'params'
>;

type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamsOf<Rest>
  : never;

/** An answer that is not JSON, or not always. */
export type MediaAnswer = {
  readonly mediaType: string;
  /** Other media types that the answer may have. */
  readonly otherTypes?: readonly string[];
  /** The type of each message of a stream. */
  readonly message?: TypeName;
  /** The type of the answer if the client accepts JSON. */
  readonly json?: TypeName;
  /** The answer is complete at once, so HEAD can be answered. */
  readonly isWhole?: boolean;
};

export type Route = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly access: Needed;
  /** One sentence. */
  readonly summary: string;
  readonly query?: TypeName;
  readonly body?: TypeName;
  /** Headers that only this route reads, with their purpose. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly answer: TypeName | MediaAnswer;
  readonly status?: number;
  /** Answers under other statuses, refusals aside. */
  readonly also?: Readonly<Record<number, TypeName | MediaAnswer>>;
  /** Monitors call this route often, and it reveals nothing worth guessing a token for. */
  readonly isProbe?: boolean;
  /** How large a body this route accepts. */
  readonly size?: BodySize;
  /** Called with the head, before the body arrives. The returned function is called after the request is handled. */
  readonly expect?: (head: RequestHead<string>) => () => void;
  readonly handle: (asked: Asked<string, object, unknown>) => Promise<unknown>;
};

/** A route with the types that its names stand for. */
type TypedRoute<
  Path extends string,
  Query extends TypeName | undefined,
  Body extends TypeName | undefined,
  Answer extends TypeName | MediaAnswer,
> = Omit<Route, 'path' | 'query' | 'body' | 'answer' | 'expect' | 'handle'> & {
  readonly path: Path;
  readonly query?: Query;
  readonly body?: Body;
  readonly answer: Answer;
  readonly expect?: (head: RequestHead<ParamsOf<Path>>) => () => void;
  readonly handle: (
    asked: Asked<ParamsOf<Path>, TypeOf<Query, object>, TypeOf<Body, undefined>>,
  ) => Promise<Response | (Answer extends TypeName ? ApiTypes[Answer] : never)>;
};

/** Forgets the types: the server checks requests with the schemas of these very types. */
export const defineRoute = <
  const Path extends string,
  const Answer extends TypeName | MediaAnswer,
  const Query extends TypeName | undefined = undefined,
  const Body extends TypeName | undefined = undefined,
>(
  route: TypedRoute<Path, Query, Body, Answer>,
): Route => route as unknown as Route;
