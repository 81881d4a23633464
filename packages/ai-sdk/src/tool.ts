/**
 * The parts of AI SDK tools, versions 6 and 7, that this adapter uses. Declared here, so that the package does not
 * depend on it. test/frameworks checks them against the real types.
 */
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject } from 'quittance/internal/base/json';
import { isTool } from 'quittance/internal/tool/define-tool';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { quote } from 'quittance/internal/base/nearest';
import type { SchemaLocation } from 'quittance/internal/tool/schema';
import { compileSchema } from 'quittance/internal/tool/schema';
import { isStandardSchema } from 'quittance/internal/tool/standard-schema';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import type { AdoptedTool } from '@quittance/adapter-kit/internal/adopt/adopted-tool';
import { keepMcpFiles } from '@quittance/adapter-kit/internal/adopt/keep-mcp-files';
import { readHints } from 'quittance/internal/tool/tool-hints';

/** The second argument of a tool in the AI SDK. */
export type AiSdkCallOptions = {
  readonly toolCallId: string;
  readonly messages?: readonly unknown[];
  readonly abortSignal?: AbortSignal;
  /** Version 7: the context of this tool. */
  readonly context?: unknown;
  /** Version 6: the context of the run. */
  readonly experimental_context?: unknown;
};

/** A tool of the AI SDK. */
export type AiSdkTool = {
  readonly type?: string | undefined;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly isProviderExecuted?: boolean | undefined;
  readonly needsApproval?: unknown;
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
  readonly toModelOutput?: ((options: never) => unknown) | undefined;
};

/** The final result of a tool: the last item it streams. */
type Final<Result> = Result extends AsyncIterable<infer Item> ? Item : Awaited<Result>;

/** The same tool under Quittance: it returns its output or the outcome of the call. */
export type GovernedAiSdkTool<Tool> = Tool extends {
  execute: (input: infer Input, options: infer Options) => infer Result;
}
  ? Omit<Tool, 'execute' | 'outputSchema' | 'toModelOutput'> & {
      execute: (input: Input, options: Options) => Promise<Final<Result> | ToolOutcome>;
    }
  : Tool;

/** Reads a tool that can be governed; undefined if another party runs it. */
export async function readAiSdkTool(
  name: string,
  tool: unknown,
): Promise<AdoptedTool<AiSdkCallOptions> | AnyTool | undefined> {
  if (isTool(tool)) return tool;
  if (typeof tool !== 'object' || tool === null)
    throw new QuittanceError('config.invalid', `The tool ${quote(name)} is not a tool of the AI SDK.`, {
      tool: name,
    });
  const given: AiSdkTool = tool;
  if (typeof given.execute !== 'function' || given.isProviderExecuted === true) return undefined;
  const execute = given.execute as (input: unknown, options: object) => unknown; // its schema checks the arguments
  return {
    name,
    description: typeof given.description === 'string' ? given.description : undefined,
    input: await readSchema(given.inputSchema, { tool: name, what: 'input' }),
    output: await readSchema(given.outputSchema, { tool: name, what: 'output' }),
    asks: readAsks(given),
    hints: readHints(given),
    run: async (args, native, { callId, signal, attach }) => {
      // The signal of the call also ends at its deadline, not only with the run.
      const passed = { toolCallId: callId, messages: [], ...native, abortSignal: signal };
      const output = await lastOf(execute.call(given, args, passed));
      // A tool of the SDK's MCP client returns the whole result. A tool with a schema has its own shape.
      return given.outputSchema === undefined ? keepMcpFiles(output, attach) : output;
    },
  };
}

function readAsks({ needsApproval }: AiSdkTool): AdoptedTool<AiSdkCallOptions>['asks'] {
  if (needsApproval === undefined || needsApproval === null || needsApproval === false) return undefined;
  if (typeof needsApproval !== 'function') return () => true;
  // Read as the SDK reads it: any truthy value asks for approval.
  return async (args, native) =>
    Boolean(await needsApproval(args, native ?? { toolCallId: '', messages: [] }));
}

/** A tool may stream intermediate output. It must not be shown before it is judged, so only the last item counts. */
async function lastOf(given: unknown): Promise<unknown> {
  if (typeof given !== 'object' || given === null || !(Symbol.asyncIterator in given)) return given;
  let last: unknown;
  // The symbol exists; a wrong type fails by itself.
  for await (const item of given as AsyncIterable<unknown>) last = item;
  return last;
}

const schemaMark = Symbol.for('vercel.ai.schema');

/** Converts a schema object of the SDK, or a function that returns one, to a Standard Schema. */
async function readSchema(given: unknown, place: SchemaLocation): Promise<unknown> {
  const schema: unknown = typeof given === 'function' && !isStandardSchema(given) ? await given() : given;
  if (schema === null || schema === undefined || isStandardSchema(schema)) return schema ?? undefined;
  if (typeof schema !== 'object' || !(schemaMark in schema)) return schema;
  const { jsonSchema, validate } = schema as { jsonSchema?: unknown; validate?: unknown };
  const written: unknown = await jsonSchema;
  if (typeof validate !== 'function') return written;
  const compiled = compileSchema(written, place);
  return {
    '~standard': {
      version: 1,
      vendor: 'ai-sdk',
      validate: async (value: unknown) => {
        const result: unknown = await validate(value);
        if (isJsonObject(result) && result['success'] === true) return { value: result['value'] };
        // It reports what is wrong but not where. The JSON Schema may also report the path, and then coercion works.
        const check = await compiled.check(value);
        if (!check.ok) return { issues: check.issues };
        const error = isJsonObject(result) ? result['error'] : undefined;
        return { issues: [{ message: error instanceof Error ? error.message : 'is not valid' }] };
      },
      jsonSchema: { input: () => written, output: () => written },
    },
  };
}

/** Shows the model the schema and accepts everything: Quittance checks and coerces the arguments. */
export const openSchema = (jsonSchema: unknown): object => ({
  [schemaMark]: true,
  _type: undefined,
  jsonSchema,
  validate: undefined,
});
