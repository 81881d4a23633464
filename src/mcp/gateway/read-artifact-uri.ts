/** How clients read what was too large for a result: the tool `read_artifact`, and resources behind `resource_link`. */
import { ProtocolError } from '@modelcontextprotocol/client';
import { TOOL_MESSAGE_MAX_CHARS } from '../../call/outcome.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { createReadArtifact } from '../../runtime/read-artifact.ts';
import { parseArtifactUri, readArtifactResource } from '../tools/artifact-resource.ts';
import type { CallSessions } from './call-sessions.ts';
import type { ClientRequest } from './client-request.ts';
import type { Fields, RelayedRequest } from './relayed-request.ts';
import { rpcCodes, textOf } from './relayed-request.ts';

/** The tool as clients see it. Every runtime has it. */
export function listReadArtifact(ledger: Ledger): Fields {
  const { name, displayName, description, input } = createReadArtifact(ledger, TOOL_MESSAGE_MAX_CHARS);
  return {
    name,
    title: displayName,
    description,
    inputSchema: input.jsonSchema,
    annotations: { readOnlyHint: true },
  };
}

/** Undefined if the request is not for an artifact. A caller reads only artifacts of their own sessions. */
export async function readArtifactUri(
  ledger: Ledger,
  { method, params }: RelayedRequest,
  { caller }: ClientRequest,
  sessions: CallSessions,
): Promise<Fields | undefined> {
  const uri = textOf(params?.['uri']) ?? '';
  if (method !== 'resources/read' || parseArtifactUri(uri) === undefined) return undefined;
  const contents = await readArtifactResource(ledger, uri, (sessionId) => sessions.isOf(sessionId, caller));
  if (contents === undefined) throw new ProtocolError(rpcCodes.invalidParams, `Unknown resource: ${uri}`);
  return { contents: [contents] };
}
