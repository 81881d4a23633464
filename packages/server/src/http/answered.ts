/** An answer in bytes, made on this thread or in a reader thread. */
import { createHash } from 'node:crypto';
import { matchesEtag, taggedHeaders } from './matches-etag.ts';
import { toProblem } from './problem.ts';
import type { HttpRefusal } from './problem.ts';

export type Answered = {
  readonly status: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
};

const encoder = new TextEncoder();

export function answerJson(value: unknown, most: number): Answered {
  const bytes = encoder.encode(JSON.stringify(value));
  if (bytes.byteLength > most) throw new AnswerTooLarge(bytes.byteLength, most);
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  return {
    status: 200,
    bytes,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      etag,
      ...taggedHeaders,
    },
  };
}

/** The handler turns it into a refusal that says what to request instead. */
export class AnswerTooLarge extends Error {
  readonly bytes: number;
  readonly most: number;

  constructor(bytes: number, most: number) {
    super(`The answer has ${bytes} bytes, and ${most} are the most.`);
    this.name = 'AnswerTooLarge';
    this.bytes = bytes;
    this.most = most;
  }
}

export function answerProblem(error: unknown, headers: HttpRefusal['headers'] = {}): Answered {
  const answer = toProblem(error);
  return {
    status: answer.status,
    bytes: encoder.encode(JSON.stringify(answer)),
    headers: {
      'content-type': 'application/problem+json; charset=utf-8',
      ...headers,
    },
  };
}

export function toResponse({ status, bytes, headers }: Answered, asked: Headers): Response {
  const { etag, 'content-type': _, ...rest } = headers;
  if (etag !== undefined && matchesEtag(asked, etag))
    return new Response(null, { status: 304, headers: { ...rest, etag } });
  return new Response(bytes, { status, headers });
}
