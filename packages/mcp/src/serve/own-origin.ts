/**
 * A web page must not reach an MCP server on this machine. A browser names the page's origin, and a page cannot forge
 * that: only the origin of the server itself is accepted, port included. Programs send no origin.
 */
import { hostHeaderValidationResponse } from '@modelcontextprotocol/server';

export function refuseOtherOrigins(
  request: Request,
  hostnames: readonly string[],
  publicHost?: string,
): Response | undefined {
  const refused = hostHeaderValidationResponse(request, [...hostnames]);
  if (refused !== undefined) return refused;
  const site = request.headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none')
    return refuse('The browser says that another site sent this request.');
  const origin = request.headers.get('origin');
  if (origin === null) return undefined;
  const host = /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase();
  const own = [request.headers.get('host')?.toLowerCase(), publicHost?.toLowerCase()];
  return host !== undefined && own.includes(host)
    ? undefined
    : refuse('A page of another origin sent this request.');
}

const refuse = (message: string): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } }, { status: 403 });
