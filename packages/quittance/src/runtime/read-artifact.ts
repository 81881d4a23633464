/** The tool `read_artifact`, which reads a stored output in pieces. */
import { defineTool } from '../tool/define-tool.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { freezeJson, isJsonObject, ownValue } from '../base/json.ts';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Ledger } from '../ledger/ledger.ts';
import { ToolError } from '../call/tool-error.ts';
import { readStoredArtifact, toReadableArtifact } from './stored-artifact.ts';

export const readArtifactName = 'read_artifact';

const mostChars = 8_000;
const mostMatches = 20;
const aroundMatch = 120;

type ReadArtifactInput = { artifactId: string; offset?: number; limit?: number; search?: string };

type Field = {
  readonly type: 'string' | 'integer';
  readonly description: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
};

const fields: Readonly<Record<keyof ReadArtifactInput, Field>> = {
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
};
const required: readonly string[] = ['artifactId'];
const written = freezeJson({ type: 'object', properties: fields, required, additionalProperties: false });

/** Every runtime has this tool, so its input is checked here: a JSON Schema would load a validator for it. */
const checks: StandardSchemaV1.Props<ReadArtifactInput> & { readonly jsonSchema: object } = {
  version: 1,
  vendor: 'quittance',
  validate(value) {
    const issues = [...findIssues(value)];
    // It has no issue, so it has this type.
    return issues.length === 0 ? { value: value as ReadArtifactInput } : { issues };
  },
  jsonSchema: { input: () => written },
};
const input: StandardSchemaV1<ReadArtifactInput> = { '~standard': checks };

function* findIssues(value: unknown): Generator<StandardSchemaV1.Issue> {
  if (!isJsonObject(value)) {
    yield { message: 'must be an object' };
    return;
  }
  for (const name of Object.keys(value))
    if (!Object.hasOwn(fields, name)) yield { path: [name], message: 'is not a known property' };
  for (const [name, field] of Object.entries(fields)) {
    const given = ownValue(value, name);
    if (given === undefined) {
      if (required.includes(name)) yield { path: [name], message: 'is required' };
    } else if (field.type === 'integer') {
      const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = field;
      if (!Number.isInteger(given) || Number(given) < minimum || Number(given) > maximum)
        yield { path: [name], message: `must be an integer from ${minimum} to ${maximum}` };
    } else {
      const { minLength = 0, maxLength = Number.MAX_SAFE_INTEGER } = field;
      if (typeof given !== 'string') yield { path: [name], message: 'must be a string' };
      else if (given.length < minLength) yield { path: [name], message: 'must not be empty' };
      else if (given.length > maxLength)
        yield { path: [name], message: `must have at most ${maxLength} characters` };
    }
  }
}

/** Room for the fields around a piece: the id, the offsets. */
const frame = 200;

/**
 * The tool that lets a model read a large output in pieces. Its pieces fit inline even after escaping, so
 * that none becomes an artifact again.
 */
export function createReadArtifact(ledger: Ledger, inlineLimit: number): AnyTool {
  const room = Math.max(frame, inlineLimit - frame);
  return defineTool({
    name: readArtifactName,
    displayName: 'Read artifact',
    description:
      'Reads a piece of a stored output. Give offset and limit in characters, or search for a text to find its position.',
    mode: 'read',
    // A piece always fits, however small the host's limit is.
    inlineLimit: Number.MAX_SAFE_INTEGER,
    // The host's success check is for its own tools.
    successCheck: () => true,
    input,
    async run({ artifactId, offset = 0, limit = mostChars, search }, { sessionId }) {
      const artifact = await readStoredArtifact(ledger, sessionId, artifactId);
      if (artifact === undefined)
        throw new ToolError(
          'tool.reported_error',
          `This session has no artifact ${JSON.stringify(artifactId)}.`,
        );
      const { content, mimeType } = toReadableArtifact(artifact);
      if (typeof content !== 'string')
        throw new ToolError(
          'tool.reported_error',
          `The artifact is a ${mimeType} file of ${content.byteLength} bytes; it cannot be read as text.`,
        );
      if (search !== undefined)
        return { artifactId, totalChars: content.length, ...findText(content, search, offset, room) };
      const piece = fitting(content.slice(offset, offset + limit), room);
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

/** The longest beginning of a text that fits as JSON, but at least one character. */
function fitting(text: string, room: number): string {
  let piece = text;
  for (let length = quotedLength(piece); length > room && piece.length > 1; length = quotedLength(piece))
    piece = piece.slice(0, Math.max(1, Math.floor((piece.length * room) / length)));
  return piece;
}

const quotedLength = (text: string): number => JSON.stringify(text).length;

function findText(
  content: string,
  search: string,
  from: number,
  room: number,
): { matches: { offset: number; text: string }[]; nextOffset?: number } {
  const matches: { offset: number; text: string }[] = [];
  let at = content.indexOf(search, from);
  let left = room;
  while (at >= 0 && matches.length < mostMatches) {
    const text = content.slice(Math.max(0, at - aroundMatch), at + search.length + aroundMatch);
    left -= quotedLength(text) + frame / 4;
    if (left < 0 && matches.length > 0) break;
    matches.push({ offset: at, text });
    at = content.indexOf(search, at + search.length);
  }
  return at >= 0 ? { matches, nextOffset: at } : { matches };
}
