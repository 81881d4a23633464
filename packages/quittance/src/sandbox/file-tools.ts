/** Tools whose file operations run in the sandbox, by sandbox-files.ts: links and `..` lead nowhere else there. */
import { checkKeys } from '../base/check-keys.ts';
import type { JsonObject } from '../base/json.ts';
import { defineTool, type Tool } from '../tool/define-tool.ts';
import { jsonSchema } from '../tool/schema.ts';
import type { ToolContext } from '../tool/tool-context.ts';
import { fileProgramWords } from './bubblewrap-arguments.ts';
import type { SandboxLimits } from './plan.ts';
import type { FileAnswer, FileRequest } from './sandbox-files.ts';
import { describeStop, graceMs, type RunInSandbox } from './shell-tool.ts';

/** Names under which the file tools are offered. */
export type FileToolNames = {
  readonly read?: string;
  readonly write?: string;
  readonly edit?: string;
  readonly list?: string;
};

export function createFileTools(
  names: FileToolNames,
  run: RunInSandbox,
  limits: SandboxLimits,
): readonly Tool[] {
  checkKeys('sandbox.fileTools', names, ['read', 'write', 'edit', 'list']);
  const useFile = createFileUse(run, limits);
  // The answer must come back whole: JSON needs up to six bytes for one.
  const mostBytes = Math.floor(limits.outputBytes / 8);
  const timeoutMs = limits.timeoutMs + graceMs;
  return [
    defineTool({
      name: names.read ?? 'read_file',
      description: `Reads a text file of the project, up to ${mostBytes} bytes.`,
      mode: 'read',
      input: fileInput<{ readonly path: string }>({}),
      resources: { paths: ['path'] },
      successCheck: () => true,
      timeoutMs,
      run: ({ path }, context) => useFile({ operation: 'read', path, mostBytes }, context),
    }),
    defineTool({
      name: names.write ?? 'write_file',
      description: 'Writes a text file of the project, and the folders above it.',
      mode: 'safe_write',
      idempotent: true,
      input: fileInput<{ readonly path: string; readonly content: string }>({
        content: { type: 'string' },
      }),
      resources: { paths: ['path'] },
      timeoutMs,
      run: ({ path, content }, context) => useFile({ operation: 'write', path, content }, context),
    }),
    defineTool({
      name: names.edit ?? 'edit_file',
      description: 'Replaces a text in a file of the project. The text must be there once.',
      mode: 'safe_write',
      input: fileInput<{
        readonly path: string;
        readonly old_text: string;
        readonly new_text: string;
        readonly replace_all?: boolean;
      }>(
        { old_text: { type: 'string', minLength: 1 }, new_text: { type: 'string' } },
        { replace_all: { type: 'boolean' } },
      ),
      resources: { paths: ['path'] },
      timeoutMs,
      run: ({ path, old_text, new_text, replace_all = false }, context) =>
        useFile(
          {
            operation: 'edit',
            path,
            oldText: old_text,
            newText: new_text,
            replaceAll: replace_all,
            mostBytes: 16 * 1_048_576,
          },
          context,
        ),
    }),
    defineTool({
      name: names.list ?? 'list_directory',
      description: 'Lists a folder of the project.',
      mode: 'read',
      input: fileInput<{ readonly path: string }>({}),
      resources: { paths: ['path'] },
      successCheck: () => true,
      timeoutMs,
      run: ({ path }, context) =>
        useFile({ operation: 'list', path, mostEntries: Math.floor(mostBytes / 64) }, context),
    }),
  ].map((tool) => tool as Tool); // four inputs, one list
}

type FileUse = (request: FileRequest, context: ToolContext) => Promise<JsonObject>;

const createFileUse =
  (run: RunInSandbox, limits: SandboxLimits): FileUse =>
  async (request, context) => {
    const ended = await run(
      { words: fileProgramWords, input: JSON.stringify(request), withFileProgram: true },
      context,
    );
    const problem =
      describeStop(ended, limits) ?? (ended.exitCode === 0 ? undefined : ended.stderr.slice(-2_000));
    if (problem !== undefined) throw new Error(problem);
    // The answer of our own program. A file can make it large, but not malformed.
    const answer = JSON.parse(ended.stdout) as FileAnswer;
    if (!answer.ok) throw new Error(answer.error);
    return answer.output as JsonObject;
  };

const fileInput = <Input>(required: JsonObject, optional: JsonObject = {}) =>
  jsonSchema<Input>({
    type: 'object',
    properties: { path: { type: 'string', minLength: 1 }, ...required, ...optional },
    required: ['path', ...Object.keys(required)],
    additionalProperties: false,
  });
