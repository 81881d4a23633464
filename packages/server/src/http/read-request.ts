/** Reads a request and checks it against the schemas of its route. A refusal says what to change. */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { findDuplicateKey } from 'quittance/internal/base/duplicate-key';
import { defineMember, formatPath, parseJson } from 'quittance/internal/base/json';
import type { JsonSchemaChecker } from 'quittance/internal/tool/schema';
import type { SchemaIssue } from 'quittance/internal/tool/schema-issue';
import { HttpRefusal } from './problem.ts';

/** The query parameters, converted to the types in their schemas. */
export function readRequestQuery(
  url: URL,
  fields: Readonly<Record<string, JsonObject>>,
  check: JsonSchemaChecker,
): object {
  const found: { [name: string]: JsonValue } = {};
  for (const [name, value] of url.searchParams) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined)
      throw new HttpRefusal(
        'http.bad_request',
        `There is no parameter ${JSON.stringify(name.slice(0, 100))} here. Known ones: ${Object.keys(fields).join(', ') || 'none'}.`,
      );
    if (Object.hasOwn(found, name))
      throw new HttpRefusal('http.bad_request', `The parameter ${name} is given twice. Give it once.`);
    defineMember(found, name, toValue(value, field));
  }
  refuseIssues('The address', check(found));
  return found;
}

/** Query parameters are text. Text that does not convert stays text, and the check refuses it. */
function toValue(given: string, { type }: JsonObject): JsonValue {
  if (type === 'integer' || type === 'number')
    return /^-?\d{1,15}(?:\.\d{1,6})?$/.test(given) ? Number(given) : given;
  if (type === 'boolean') return given === 'true' ? true : given === 'false' ? false : given;
  return given;
}

export type BodyLimits = {
  readonly bytes: number;
  /** JSON values, including nested ones. */
  readonly values: number;
};

/** Reads a JSON body within limits. */
export async function readBody(
  request: Request,
  limits: BodyLimits,
  check: JsonSchemaChecker,
): Promise<unknown> {
  const type = request.headers.get('content-type') ?? '';
  const text = await readText(request, limits.bytes);
  // A form of another site cannot send this type, so the type helps to keep other sites out. An empty body needs no
  // type; requests with a cookie have further checks.
  const isNothing = text === '' && type === '';
  if (!isNothing && !/^application\/json\s*(?:;\s*charset=(?:utf-8|"utf-8")\s*)?$/i.test(type))
    throw new HttpRefusal(
      'http.unsupported_media_type',
      'Send JSON, with the header "Content-Type: application/json".',
    );
  if (!/^(?:identity)?$/i.test(request.headers.get('content-encoding') ?? ''))
    throw new HttpRefusal(
      'http.unsupported_media_type',
      'Send the body as it is, without Content-Encoding.',
      {},
      { 'accept-encoding': 'identity' },
    );
  if (hasMoreValues(text, limits.values))
    throw new HttpRefusal(
      'http.too_large',
      `A body may hold ${limits.values} JSON values here, counting those inside of others. Send less at a time.`,
    );
  const read = parseJson(text === '' ? '{}' : text);
  if (!read.ok)
    throw new HttpRefusal(
      'http.bad_request',
      `The body is not valid JSON: ${formatPath(read.path)} ${read.problem}`,
    );
  const twice = findDuplicateKey(text);
  if (twice !== undefined)
    throw new HttpRefusal(
      'http.bad_request',
      `The key ${JSON.stringify(twice.slice(0, 100))} appears twice in the body. Send it once.`,
    );
  refuseIssues('The body', check(read.value));
  return read.value;
}

/** Does a JSON text hold more values than this? Stops as early as possible and does not parse. */
export function hasMoreValues(text: string, most: number): boolean {
  // A value takes at least two characters, including its separator.
  if (text.length < most * 2) return false;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) {
      at = endOfString(text, at);
      if (at === -1) return false; // not JSON; the parser reports it
    } else if ((char === comma || char === bracket || char === brace) && ++values > most) return true;
  }
  return false;
}

const [quote, comma, bracket, brace, backslash] = [34, 44, 91, 123, 92];

/** The end of the string that starts here, or -1. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return -1;
}

export async function readText(request: Request, mostBytes: number): Promise<string> {
  const tooLarge = (): HttpRefusal =>
    new HttpRefusal(
      'http.too_large',
      `A request may have ${mostBytes} bytes. Send less; outputs that are larger belong in an artifact of the tool’s own.`,
      {},
      { connection: 'close' },
    );
  if (Number(request.headers.get('content-length') ?? 0) > mostBytes) throw tooLarge();
  if (request.body === null) return '';
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of request.body) {
      size += piece.byteLength;
      if (size > mostBytes) throw tooLarge();
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof HttpRefusal) throw error;
    // The client disconnected, so it does not see this, and the log does not mention it.
    throw new HttpRefusal('http.bad_request', 'The body is incomplete. Send all of it.');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
  } catch {
    throw new HttpRefusal('http.bad_request', 'The body is not UTF-8.');
  }
}

function refuseIssues(what: string, issues: readonly SchemaIssue[]): void {
  if (issues.length === 0) return;
  const answer = [
    ...new Set(issues.slice(0, 20).map(({ path, message }) => `${formatPath(path)} ${message}`)),
  ].slice(0, 5);
  throw new HttpRefusal(
    'http.bad_request',
    `${what} does not fit: ${answer.join('; ')}. GET /openapi.json says what this route takes.`,
  );
}
