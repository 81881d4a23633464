/** Refuses input that never became a request: Node could not parse it, or did not get it in time. */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { HttpRefusal, toProblem } from './problem.ts';
import { safeHeaders } from './safe-headers.ts';

/** Sends a refusal and ends the connection, because the start of the next request is unknown. */
export function refuseSocket(error: NodeJS.ErrnoException, socket: Duplex, isAnswering: boolean): void {
  // During another answer, the client would take these bytes for a part of it.
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
  return new HttpRefusal('http.bad_request', 'This is not a valid HTTP/1.1 request.');
}

function toText(refusal: HttpRefusal): string {
  const problem = toProblem(refusal);
  const body = JSON.stringify(problem);
  const headers = [
    ...safeHeaders,
    ['content-type', 'application/problem+json; charset=utf-8'],
    ['content-length', String(Buffer.byteLength(body))],
    ['connection', 'close'],
  ].map(([name, value]) => `${name}: ${value}`);
  const status = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? 'Refused'}`;
  return `${[status, ...headers].join('\r\n')}\r\n\r\n${body}`;
}
