import { defineTool } from '../tool/define-tool.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { jsonSchema } from '../tool/schema.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { ToolError } from '../call/tool-error.ts';

export const readArtifactName = 'read_artifact';

type ReadArtifactInput = { artifactId: string; offset?: number; limit?: number; search?: string };

const mostChars = 8_000;
const mostMatches = 20;
const aroundMatch = 120;

/** The tool by which a model reads, in pieces, an output that was too large to be shown whole. */
export function createReadArtifact(ledger: Ledger): AnyTool {
  return defineTool({
    name: readArtifactName,
    displayName: 'Read artifact',
    description:
      'Reads a piece of a stored output. Give offset and limit in characters, or search for a text to find where it stands.',
    mode: 'read',
    input: jsonSchema<ReadArtifactInput>({
      type: 'object',
      properties: {
        artifactId: { type: 'string', minLength: 1, description: 'The artifact_reference you were given.' },
        offset: { type: 'integer', minimum: 0, description: 'First character to read. Default 0.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: mostChars,
          description: `How many characters. Default ${mostChars}.`,
        },
        search: {
          type: 'string',
          minLength: 1,
          maxLength: 200,
          description: 'Text to look for, from offset on.',
        },
      },
      required: ['artifactId'],
      additionalProperties: false,
    }),
    async run({ artifactId, offset = 0, limit = mostChars, search }, { sessionId }) {
      const artifact = await ledger.readArtifact(sessionId, artifactId);
      if (artifact === undefined)
        throw new ToolError(
          'tool.reported_error',
          `This session has no artifact ${JSON.stringify(artifactId)}.`,
        );
      const { content, mimeType } = artifact;
      if (typeof content !== 'string')
        throw new ToolError(
          'tool.reported_error',
          `The artifact is a ${mimeType} file of ${content.byteLength} bytes; it cannot be read as text.`,
        );
      if (search !== undefined)
        return { artifactId, totalChars: content.length, ...findText(content, search, offset) };
      const piece = content.slice(offset, offset + limit);
      const nextOffset = offset + piece.length;
      return {
        artifactId,
        offset,
        totalChars: content.length,
        ...(nextOffset < content.length ? { nextOffset } : {}),
        content: piece,
      };
    },
  });
}

function findText(
  content: string,
  search: string,
  from: number,
): { matches: { offset: number; text: string }[]; nextOffset?: number } {
  const matches: { offset: number; text: string }[] = [];
  let at = content.indexOf(search, from);
  while (at >= 0 && matches.length < mostMatches) {
    matches.push({
      offset: at,
      text: content.slice(Math.max(0, at - aroundMatch), at + search.length + aroundMatch),
    });
    at = content.indexOf(search, at + search.length);
  }
  return at >= 0 ? { matches, nextOffset: at } : { matches };
}
