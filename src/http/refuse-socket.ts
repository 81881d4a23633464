/** Refusals of what never became a request: Node could not read it, or did not get it in time. */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { HttpRefusal, toProblem } from './problem.ts';
import { safeHeaders } from './safe-headers.ts';

/** Answers as any other refusal is answered, and ends the connection: nobody can tell where the next request begins. */
export function refuseSocket(error: NodeJS.ErrnoException, socket: Duplex, isAnswering: boolean): void {
  // In the middle of another answer these bytes would be taken for a part of it.
  if (!isAnswering && socket.writable && error.code !== 'ECONNRESET') socket.write(toText(toRefusal(error)));
  socket.destroy(error);
}

function toRefusal({ code }: NodeJS.ErrnoException): HttpRefusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new HttpRefusal('http.timeout', 'Send the request again, faster, and all of it.');
  if (code === 'HPE_HEADER_OVERFLOW')
    return new HttpRefusal(
      'http.head_too_large',
      'Address and headers may have 16 KiB together, and there may be a hundred headers. Send less; what is long belongs in a body.',
    );
  return new HttpRefusal(
    'http.bad_request',
    'This is no request of HTTP/1.1 that can be read without doubt.',
  );
}

function toText(refusal: HttpRefusal): string {
  const problem = toProblem(refusal);
  const body = JSON.stringify(problem);
  const headers = [
    ...safeHeaders,
    ['content-type', 'application/problem+json; charset=utf-8'],
    ['cache-control', 'no-store'],
    ['content-length', String(Buffer.byteLength(body))],
    ['connection', 'close'],
  ].map(([name, value]) => `${name}: ${value}`);
  const status = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? 'Refused'}`;
  return `${[status, ...headers].join('\r\n')}\r\n\r\n${body}`;
}
